//! Every bound of the format, with its unit.

/// Longest event, header and payload, in bytes.
pub const EVENT_BYTES_MAX: usize = 64 * 1024;
/// Longest policy, in bytes of TOML.
pub const POLICY_BYTES_MAX: usize = 48 * 1024;
/// Most events in one batch.
pub const BATCH_EVENTS_MAX: usize = 1024;
/// Longest batch, header and events, in bytes.
pub const BATCH_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Longest name (engine, client, source), in bytes of printable ASCII.
pub const NAME_BYTES_MAX: usize = 128;
/// Longest `source_key`, in bytes of printable ASCII.
pub const SOURCE_KEY_BYTES_MAX: usize = 64;
/// Most (path, integer) pairs of raw usage kept with a result.
pub const RAW_USAGE_PAIRS_MAX: usize = 64;
/// Most (path, integer) pairs of a provider's usage object that are read at all.
pub const RAW_USAGE_PAIRS_READ_MAX: usize = 1024;
/// Most bytes of raw usage paths and integers (8 bytes each) kept with a result.
pub const RAW_USAGE_BYTES_MAX: usize = 2048;
/// Deepest nesting of a provider's usage object that is read.
pub const RAW_USAGE_DEPTH_MAX: usize = 6;
/// Largest token count one request may state. No model takes four billion tokens; a larger figure
/// is a provider's mistake and is treated as unknown.
pub const TOKENS_MAX: u32 = u32::MAX - 1;
/// Most decimal digits after the point of a rate.
pub const RATE_SCALE_MAX: u8 = 24;
/// Largest rate, in whole US dollars per unit. With [`TOKENS_MAX`] it keeps every product inside 128 bits.
pub const RATE_USD_MAX: u64 = 1_000_000;
/// Largest amount a payload may state, in pico-dollars: more than the largest rate times the largest count, for a
/// thousand turns. A million of them fit into 128 bits.
pub const AMOUNT_PICO_MAX: u128 = 10_u128.pow(32);

const _: () = assert!(POLICY_BYTES_MAX < EVENT_BYTES_MAX && EVENT_BYTES_MAX < BATCH_BYTES_MAX);
