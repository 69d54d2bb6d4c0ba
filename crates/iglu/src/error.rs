//! The one error type of the core: where, what was found, and how to mend it.

use std::fmt;

/// Result of everything that depends on input from outside.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong, with the place, the value and the remedy.
///
/// ```
/// use iglu::Error;
/// let e = Error::data("edges: row 17", "target 2708, but there are 2708 nodes (0..2707)", "ids start at 0");
/// assert_eq!(e.to_string(), "edges: row 17: target 2708, but there are 2708 nodes (0..2707)\n  fix: ids start at 0");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A flag, key or value that cannot be used.
    Usage {
        /// The flag or key.
        place: String,
        /// The value found and what was expected.
        found: String,
        /// How to mend it.
        fix: String,
    },
    /// Input that is damaged or contradicts itself.
    Data {
        /// File, array, row.
        place: String,
        /// The value found and what was expected.
        found: String,
        /// How to mend it.
        fix: String,
    },
    /// Input that is not there.
    Missing {
        /// The path asked for.
        place: String,
        /// What the system said.
        found: String,
        /// How to mend it.
        fix: String,
    },
    /// Output that cannot be written.
    Output {
        /// The path asked for.
        place: String,
        /// What the system said.
        found: String,
        /// How to mend it.
        fix: String,
    },
    /// Output that another process is writing.
    Locked {
        /// The path asked for.
        place: String,
        /// Who has it.
        found: String,
        /// How to mend it.
        fix: String,
    },
    /// Training produced numbers that are not finite.
    Diverged {
        /// Epoch, layer and tensor.
        place: String,
        /// The value found.
        found: String,
        /// How to mend it.
        fix: String,
    },
    /// More memory than there is, or than was allowed.
    Memory {
        /// What is to be allocated.
        place: String,
        /// How much, and how much there is.
        found: String,
        /// How to mend it.
        fix: String,
    },
    /// Somebody asked to stop, and there is nothing to show yet.
    Interrupted {
        /// What was going on.
        place: String,
        /// How far it got.
        found: String,
        /// How to go on.
        fix: String,
    },
}

macro_rules! makers {
    ($($(#[$doc:meta])* $name:ident => $variant:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name(place: impl Into<String>, found: impl Into<String>, fix: impl Into<String>) -> Self {
            Self::$variant { place: place.into(), found: found.into(), fix: fix.into() }
        }
    )*};
}

impl Error {
    makers! {
        /// A flag, key or value that cannot be used.
        usage => Usage;
        /// Input that is damaged or contradicts itself.
        data => Data;
        /// Input that is not there.
        missing => Missing;
        /// Output that cannot be written.
        output => Output;
        /// Output that another process is writing.
        locked => Locked;
        /// Training produced numbers that are not finite.
        diverged => Diverged;
        /// More memory than there is, or than was allowed.
        memory => Memory;
        /// Somebody asked to stop, and there is nothing to show yet.
        interrupted => Interrupted;
    }

    /// Process exit code of this kind of error.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage { .. } => 64,
            Self::Data { .. } => 65,
            Self::Missing { .. } => 66,
            Self::Locked { .. } => 73,
            Self::Output { .. } => 74,
            Self::Diverged { .. } => 20,
            Self::Memory { .. } => 71,
            Self::Interrupted { .. } => 130,
        }
    }

    /// The same error, its place prefixed by where the caller was (a file, say).
    #[must_use]
    pub fn within(mut self, outer: &str) -> Self {
        let (Self::Usage { place, .. }
        | Self::Data { place, .. }
        | Self::Missing { place, .. }
        | Self::Output { place, .. }
        | Self::Locked { place, .. }
        | Self::Diverged { place, .. }
        | Self::Memory { place, .. }
        | Self::Interrupted { place, .. }) = &mut self;
        *place = if place.is_empty() { outer.to_string() } else { format!("{outer}: {place}") };
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Usage { place, found, fix }
        | Self::Data { place, found, fix }
        | Self::Missing { place, found, fix }
        | Self::Output { place, found, fix }
        | Self::Locked { place, found, fix }
        | Self::Diverged { place, found, fix }
        | Self::Memory { place, found, fix }
        | Self::Interrupted { place, found, fix }) = self;
        write!(f, "{place}: {found}")?;
        if fix.is_empty() { Ok(()) } else { write!(f, "\n  fix: {fix}") }
    }
}

impl std::error::Error for Error {}
