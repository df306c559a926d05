//! A map whose digest follows its changes, so that reading it takes no time.
//!
//! The digest is the sum, in four 64-bit lanes, of H(table, key, value) over the entries: it does not
//! depend on the order of changes. It finds faults, not forgers: whoever can choose the state can
//! choose its digest.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeBounds;

use events::bytes::Bytes;
use events::hash::{Domain, Hasher};
use events::ids::Digest;
use serde::{Serialize, Serializer};

type Lanes = [u64; 4];

#[derive(Clone, Debug)]
struct Slot<V> {
    value: V,
    /// What the slot adds to the sum; `None` while it is changed and not settled.
    settled: Option<Lanes>,
}

/// A map with a digest that follows its changes.
#[derive(Clone, Debug)]
pub struct Table<K, V> {
    name: &'static str,
    slots: BTreeMap<K, Slot<V>>,
    changed: BTreeSet<K>,
    sum: Lanes,
}

impl<K: Ord + Clone + Serialize, V: Serialize> Table<K, V> {
    /// An empty table.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self { name, slots: BTreeMap::new(), changed: BTreeSet::new(), sum: [0; 4] }
    }

    /// A table of these entries, settled.
    #[must_use]
    pub fn of(name: &'static str, entries: BTreeMap<K, V>) -> Self {
        let mut table = Self::new(name);
        for (key, value) in entries {
            table.insert(key, value);
        }
        table.settle();
        table
    }

    /// The value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.slots.get(key).map(|slot| &slot.value)
    }

    /// The entries, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.slots.iter().map(|(key, slot)| (key, &slot.value))
    }

    /// The entries from a key on, by key.
    pub fn range(&self, keys: impl RangeBounds<K>) -> impl Iterator<Item = (&K, &V)> {
        self.slots.range(keys).map(|(key, slot)| (key, &slot.value))
    }

    /// Takes out every entry that is not to be kept.
    pub fn retain(&mut self, keep: impl Fn(&K, &V) -> bool) {
        let gone: Vec<K> = self
            .iter()
            .filter(|(key, value)| !keep(key, value))
            .map(|(key, _)| key.clone())
            .collect();
        gone.iter().for_each(|key| drop(self.remove(key)));
    }

    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// True without entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Puts a value in place of the one before.
    pub fn insert(&mut self, key: K, value: V) {
        let before = self.slots.insert(key.clone(), Slot { value, settled: None });
        self.unsettle(key, before.and_then(|slot| slot.settled));
    }

    /// The value of a key to be changed, made first if need be.
    pub fn entry(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        let settled = self.slots.get_mut(&key).and_then(|slot| slot.settled.take());
        if settled.is_some() || !self.slots.contains_key(&key) {
            self.unsettle(key.clone(), settled);
        }
        &mut self.slots.entry(key).or_insert_with(|| Slot { value: make(), settled: None }).value
    }

    /// The value of a key to be changed, if it is there.
    pub fn get_mut<Q>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
        Q: Ord + ToOwned<Owned = K> + ?Sized,
    {
        let slot = self.slots.get_mut(key)?;
        if let Some(lanes) = slot.settled.take() {
            add(&mut self.sum, lanes, u64::wrapping_sub);
            self.changed.insert(key.to_owned());
        }
        Some(&mut slot.value)
    }

    /// Changes the value of a key, made first if need be; the key is copied only then.
    pub fn change<Q>(&mut self, key: &Q, make: impl FnOnce() -> V, change: impl FnOnce(&mut V))
    where
        K: Borrow<Q>,
        Q: Ord + ToOwned<Owned = K> + ?Sized,
    {
        if let Some(value) = self.get_mut(key) {
            return change(value);
        }
        let mut value = make();
        change(&mut value);
        self.insert(key.to_owned(), value);
    }

    /// Takes a key out.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let slot = self.slots.remove(key)?;
        match slot.settled {
            Some(lanes) => add(&mut self.sum, lanes, u64::wrapping_sub),
            // It is not in the digest: there is nothing to bring up to date.
            None => drop(self.changed.remove(key)),
        }
        Some(slot.value)
    }

    fn unsettle(&mut self, key: K, settled: Option<Lanes>) {
        if let Some(lanes) = settled {
            add(&mut self.sum, lanes, u64::wrapping_sub);
        }
        self.changed.insert(key);
    }

    /// Brings the digest up to date.
    pub fn settle(&mut self) {
        for key in std::mem::take(&mut self.changed) {
            let Some(slot) = self.slots.get_mut(&key) else { continue };
            let lanes = lanes(self.name, &key, &slot.value);
            slot.settled = Some(lanes);
            add(&mut self.sum, lanes, u64::wrapping_add);
        }
    }

    /// The digest, as of the last [`Table::settle`].
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut bytes = [0; 32];
        for (out, lane) in bytes.chunks_exact_mut(8).zip(self.sum) {
            out.copy_from_slice(&lane.to_be_bytes());
        }
        Bytes(bytes)
    }
}

fn add(sum: &mut Lanes, lanes: Lanes, with: fn(u64, u64) -> u64) {
    for (total, lane) in sum.iter_mut().zip(lanes) {
        *total = with(*total, lane);
    }
}

fn lanes<K: Serialize, V: Serialize>(name: &str, key: &K, value: &V) -> Lanes {
    // Writing plain data to memory has no way to fail.
    let bytes = rmp_serde::to_vec(&(name, key, value)).unwrap_or_default();
    let digest = Hasher::new(Domain::State).fixed(&bytes).finish();
    let mut lanes = [0; 4];
    for (lane, bytes) in lanes.iter_mut().zip(digest.0.as_chunks().0) {
        *lane = u64::from_be_bytes(*bytes);
    }
    lanes
}

/// Tables are equal when their entries are.
impl<K: PartialEq, V: PartialEq> PartialEq for Table<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.slots.len() == other.slots.len()
            && self.slots.iter().zip(&other.slots).all(|((key, slot), (other_key, other_slot))| {
                key == other_key && slot.value == other_slot.value
            })
    }
}

impl<K: Serialize, V: Serialize> Serialize for Table<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.slots.iter().map(|(key, slot)| (key, &slot.value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_digest_is_a_function_of_the_entries_alone(
            changes in prop::collection::vec((0_u8..6, any::<u16>(), any::<bool>()), 0..40),
        ) {
            let mut table = Table::new("t");
            let mut plain = BTreeMap::new();
            for (key, value, settle) in changes {
                if value % 2 == 0 {
                    table.insert(key, value);
                    plain.insert(key, value);
                } else {
                    *table.entry(key, || 7) = value;
                    plain.insert(key, value);
                }
                if settle {
                    table.settle();
                }
            }
            table.settle();
            let fresh = Table::of("t", plain);
            prop_assert_eq!(table.digest(), fresh.digest());
            prop_assert!(table == fresh);
        }
    }

    #[test]
    fn another_name_key_or_value_is_another_digest() {
        let digest = |name, key: u8, value: u8| Table::of(name, [(key, value)].into()).digest();
        assert_ne!(digest("a", 1, 2), digest("b", 1, 2));
        assert_ne!(digest("a", 1, 2), digest("a", 2, 2));
        assert_ne!(digest("a", 1, 2), digest("a", 1, 3));
        assert_eq!(Table::<u8, u8>::new("a").digest(), Bytes([0; 32]));
    }
}
