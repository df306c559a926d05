//! Lines of a file, each bounded, and the digest of all its bytes.

use std::io::{self, BufRead, ErrorKind};

use events::hash::{Domain, Hasher};
use events::ids::Digest;

/// Longest line that is read, in bytes without its end: transcripts hold whole images. Longer ones are passed
/// over, not kept.
pub(super) const LINE_BYTES_MAX: usize = 1 << 24;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One line, without its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'l> {
    /// Its bytes; of a line that is too long, the first.
    pub(super) bytes: &'l [u8],
    /// True when it is longer than [`LINE_BYTES_MAX`].
    pub(super) is_cut: bool,
}

impl Line<'_> {
    /// True when there is nothing in it.
    pub(super) fn is_blank(&self) -> bool {
        !self.is_cut && self.bytes.trim_ascii().is_empty()
    }
}

/// Reads a file line by line in bounded memory.
pub(super) struct Lines<R> {
    source: R,
    hasher: Hasher,
    number: u64,
    buffer: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    /// The lines of a source.
    pub(super) fn new(source: R) -> Self {
        Self { source, hasher: Hasher::new(Domain::Source), number: 0, buffer: Vec::new() }
    }

    /// The next line and its number, counted from 1; `None` at the end. A line ends at `\n` or `\r\n`,
    /// the last one at the end of the file; a byte order mark before the first is no part of it.
    ///
    /// # Errors
    /// The source's.
    pub(super) fn next(&mut self) -> io::Result<Option<(u64, Line<'_>)>> {
        self.buffer.clear();
        let Some(length) = self.fill()? else { return Ok(None) };
        self.number += 1;
        let is_cut = length > self.buffer.len() as u64;
        let mut bytes = self.buffer.as_slice();
        if self.number == 1 {
            bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
        }
        if !is_cut {
            bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        }
        let is_cut = is_cut || bytes.len() > LINE_BYTES_MAX;
        Ok(Some((self.number, Line { bytes, is_cut })))
    }

    /// Digest of every byte read so far.
    pub(super) fn digest(&self) -> Digest {
        self.hasher.finish()
    }

    /// Reads up to the next `\n` and keeps what is to be kept; the line's length, or `None` at the end.
    fn fill(&mut self) -> io::Result<Option<u64>> {
        let mut length = 0;
        loop {
            let chunk = match self.source.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if chunk.is_empty() {
                return Ok((length > 0).then_some(length));
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let line = &chunk[..end.unwrap_or(chunk.len())];
            // Room for what does not count: the line's `\r`, and a byte order mark.
            let room = (LINE_BYTES_MAX + 4).saturating_sub(self.buffer.len());
            self.buffer.extend_from_slice(&line[..line.len().min(room)]);
            length += line.len() as u64;
            let taken = end.map_or(chunk.len(), |end| end + 1);
            self.hasher.fixed(&chunk[..taken]);
            self.source.consume(taken);
            if end.is_some() {
                return Ok(Some(length));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use events::hash::digest;

    fn lines(bytes: &[u8], chunk: usize) -> Vec<(u64, String, bool)> {
        let mut lines = Lines::new(io::BufReader::with_capacity(chunk, bytes));
        let mut found = Vec::new();
        while let Some((number, line)) = lines.next().unwrap() {
            found.push((number, String::from_utf8(line.bytes.to_vec()).unwrap(), line.is_cut));
        }
        assert_eq!(lines.digest(), digest(Domain::Source, bytes));
        found
    }

    fn line(number: u64, text: &str) -> (u64, String, bool) {
        (number, text.to_owned(), false)
    }

    #[test]
    fn lines_end_as_they_may() {
        for chunk in [1, 2, 3, 7, 4_096] {
            let found = lines(b"\xef\xbb\xbfone\r\ntwo\n\n \xef\xbb\xbf\nlast", chunk);
            let expected = [
                line(1, "one"),
                line(2, "two"),
                line(3, ""),
                line(4, " \u{feff}"),
                line(5, "last"),
            ];
            assert_eq!(found, expected);
        }
        assert_eq!(lines(b"", 8), []);
        assert_eq!(lines(b"\n", 8), [line(1, "")]);
        assert_eq!(lines(b"a\n", 8), [line(1, "a")]);
        assert_eq!(lines(b"a\r", 8), [line(1, "a")], "cut between the two bytes of an end");
    }

    #[test]
    fn a_line_has_a_bound_and_the_next_one_is_whole() {
        let longest = "x".repeat(LINE_BYTES_MAX);
        let text = format!("\u{feff}{longest}\r\n{longest}y\r\n{longest}{longest}\nnext\n");
        let found = lines(text.as_bytes(), 4_096);
        let cut: Vec<_> = found.iter().map(|(_, _, is_cut)| *is_cut).collect();
        assert_eq!(cut, [false, true, true, false]);
        assert_eq!(found[0].1, longest);
        assert!(found.iter().all(|(_, kept, _)| kept.len() <= LINE_BYTES_MAX + 4));
        assert_eq!(found[3], line(4, "next"));
    }

    #[test]
    fn a_source_that_fails_is_told_of() {
        struct Fails;
        impl io::Read for Fails {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("gone"))
            }
        }
        assert!(Lines::new(io::BufReader::new(Fails)).next().is_err());
    }
}
