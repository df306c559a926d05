//! Tests of the whole: the real binary, the sample week, the laws.

mod oracle;
