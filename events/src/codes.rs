//! Closed sets of one-byte codes, as they stand in payloads.

/// Declares an enum stored as one byte. A byte outside the set does not decode.
macro_rules! codes {
    ($(#[$meta:meta])* $name:ident { $($(#[$code_meta:meta])* $variant:ident = $code:literal $label:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $name { $($(#[$code_meta])* $variant = $code,)+ }

        impl $name {
            /// Every code of the set, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word used in reports and JSON.
            #[must_use]
            pub const fn label(self) -> &'static str {
                match self { $(Self::$variant => $label,)+ }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if serializer.is_human_readable() {
                    serializer.serialize_str(self.label())
                } else {
                    serializer.serialize_u8(*self as u8)
                }
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                match u8::deserialize(deserializer)? {
                    $($code => Ok(Self::$variant),)+
                    other => Err(serde::de::Error::invalid_value(
                        serde::de::Unexpected::Unsigned(u64::from(other)),
                        &concat!("a code of ", stringify!($name)),
                    )),
                }
            }
        }
    };
}
pub(crate) use codes;
