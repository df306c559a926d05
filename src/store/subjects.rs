//! Which subjects a log certainly holds nothing about, told without asking the engine.
//!
//! An import asks of every row whether its turn is known; most are not, and the engine takes longer to find
//! nothing than everything else takes. The index is read once, when so many were asked for that it pays.

use std::collections::HashSet;

use events::ids::Subject;

/// Most subjects that are remembered: 16 bytes and a little each.
const REMEMBERED_MAX: usize = 8_000_000;
/// Finding nothing in the engine takes as long as reading so many keys of its index in a row.
const KEYS_A_QUESTION: u64 = 40;

/// What is known of the subjects of a log.
#[derive(Debug, Default)]
pub(super) struct Subjects {
    /// Digests of all subjects, once the index was read.
    all: Option<HashSet<u64>>,
    asked: u64,
    given_up: bool,
}

impl Subjects {
    /// True when the log certainly holds nothing about a subject.
    pub(super) fn lacks(&self, subject: &Subject) -> bool {
        self.all.as_ref().is_some_and(|all| !all.contains(&short(subject)))
    }

    /// Counts a question; true when the index of so many keys should be read now.
    pub(super) const fn asks_for_index(&mut self, keys: u64) -> bool {
        self.asked += 1;
        self.all.is_none() && !self.given_up && self.asked * KEYS_A_QUESTION > keys
    }

    /// Takes in every subject of the index.
    pub(super) fn read<E>(
        &mut self,
        subjects: impl Iterator<Item = Result<Subject, E>>,
    ) -> Result<(), E> {
        let mut all = HashSet::new();
        for subject in subjects {
            if all.len() == REMEMBERED_MAX {
                self.given_up = true;
                return Ok(());
            }
            all.insert(short(&subject?));
        }
        self.all = Some(all);
        Ok(())
    }

    /// The log holds something about a subject from here on.
    pub(super) fn add(&mut self, subject: &Subject) {
        if let Some(all) = &mut self.all {
            all.insert(short(subject));
            if all.len() > REMEMBERED_MAX {
                (self.all, self.given_up) = (None, true);
            }
        }
    }
}

/// Subjects are digests or drawn: half of one tells them apart, and where it does not, the engine is asked.
fn short(subject: &Subject) -> u64 {
    let mut half = [0; 8];
    half.copy_from_slice(&subject.0[8..]);
    u64::from_be_bytes(half)
}

#[cfg(test)]
mod tests {
    use super::*;
    use events::bytes::Bytes;

    fn subject(number: u64) -> Subject {
        let mut bytes = [1; 16];
        bytes[8..].copy_from_slice(&number.to_be_bytes());
        Bytes(bytes)
    }

    #[test]
    fn nothing_is_lacking_before_the_index_was_read() {
        let mut subjects = Subjects::default();
        assert!(!subjects.lacks(&subject(1)));
        let asked = (1..).find(|_| subjects.asks_for_index(400)).unwrap();
        assert_eq!(asked, 11);
        subjects.read([1, 2].map(|number| Ok::<_, ()>(subject(number))).into_iter()).unwrap();
        assert!(!subjects.asks_for_index(0), "once is enough");
        assert_eq!([1, 2, 3].map(|number| subjects.lacks(&subject(number))), [false, false, true]);
        subjects.add(&subject(3));
        assert!(!subjects.lacks(&subject(3)));
    }
}
