//! An array that is either our own or lies in memory that something else keeps, a mapped file say.
//!
//! Reading is the same for both. Writing makes a copy first where the memory is not ours. Says nothing about where
//! memory comes from: the keeper hands out a slice, and is let go with the last buffer that uses it.

use rayon::prelude::*;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Keeps memory alive and hands it out.
pub trait Keep<T>: Send + Sync {
    /// The values, the same slice each time.
    fn values(&self) -> &[T];

    /// Whether [`Keep::rest`] gives memory back.
    fn can_rest(&self) -> bool {
        false
    }

    /// Nobody will read the values for a while: what can be had again from elsewhere need not stay in memory.
    fn rest(&self) {}
}

impl<T, K: AsRef<[T]> + Send + Sync> Keep<T> for K {
    fn values(&self) -> &[T] {
        self.as_ref()
    }
}

/// Keeps memory for all who use it.
pub type Keeper<T> = Arc<dyn Keep<T>>;

/// An array, owned or kept by something else.
///
/// ```
/// use iglu::Buffer;
/// use std::sync::Arc;
/// let kept: Buffer<u32> = Buffer::kept(Arc::new(vec![1, 2, 3]));
/// let mut own = kept.clone();
/// own.make_mut()[0] = 9;
/// assert_eq!((&kept[..], &own[..]), (&[1, 2, 3][..], &[9, 2, 3][..]));
/// ```
#[derive(Clone)]
pub struct Buffer<T>(Memory<T>);

#[derive(Clone)]
enum Memory<T> {
    Own(Vec<T>),
    Kept(Keeper<T>),
}

impl<T> Buffer<T> {
    /// The memory of a keeper.
    pub fn kept(keeper: Keeper<T>) -> Self {
        Self(Memory::Kept(keeper))
    }

    /// Whether somebody else keeps the memory.
    pub fn is_kept(&self) -> bool {
        matches!(self.0, Memory::Kept(_))
    }

    /// Whether [`Buffer::rest`] gives memory back.
    pub fn can_rest(&self) -> bool {
        matches!(&self.0, Memory::Kept(keeper) if keeper.can_rest())
    }

    /// Tells the keeper, if there is one, that nobody will read the values for a while.
    pub fn rest(&self) {
        if let Memory::Kept(keeper) = &self.0 {
            keeper.rest();
        }
    }
}

impl<T: Copy + Send + Sync> Buffer<T> {
    /// The values, writable; a copy of them where the memory is not ours, whose keeper may rest then.
    pub fn make_mut(&mut self) -> &mut Vec<T> {
        if let Memory::Kept(keeper) = &self.0 {
            self.0 = Memory::Own(copied(keeper));
        }
        match &mut self.0 {
            Memory::Own(values) => values,
            Memory::Kept(_) => unreachable!("copied above"),
        }
    }

    /// The values as a vector of their own.
    pub fn into_vec(self) -> Vec<T> {
        match self.0 {
            Memory::Own(values) => values,
            Memory::Kept(keeper) => copied(&keeper),
        }
    }
}

/// A copy, made on all threads: most of its time goes to memory that is touched for the first time.
fn copied<T: Copy + Send + Sync>(keeper: &Keeper<T>) -> Vec<T> {
    let copy = keeper.values().par_iter().copied().collect();
    keeper.rest();
    copy
}

impl<T> Deref for Buffer<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match &self.0 {
            Memory::Own(values) => values,
            Memory::Kept(keeper) => keeper.values(),
        }
    }
}

impl<T> From<Vec<T>> for Buffer<T> {
    fn from(values: Vec<T>) -> Self {
        Self(Memory::Own(values))
    }
}

impl<T> Default for Buffer<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T: PartialEq> PartialEq for Buffer<T> {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}

impl<T: fmt::Debug> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self[..].fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_memory_is_read_in_place_and_copied_when_written() {
        let keeper = Arc::new(vec![1_u32, 2, 3]);
        let mut buffer = Buffer::kept(keeper.clone());
        assert!(buffer.is_kept() && std::ptr::eq(buffer.as_ptr(), keeper.as_ptr()));
        assert_eq!(buffer, Buffer::from(vec![1, 2, 3]));
        buffer.make_mut().push(4);
        assert_eq!((&buffer[..], &keeper[..], buffer.is_kept()), (&[1, 2, 3, 4][..], &[1, 2, 3][..], false));
        assert_eq!(Buffer::kept(keeper).into_vec(), [1, 2, 3]);
    }

    #[test]
    fn the_keeper_goes_with_the_last_buffer() {
        let keeper = Arc::new(vec![0_u8; 8]);
        let (one, two) = (Buffer::kept(keeper.clone()), Buffer::kept(keeper.clone()));
        let three = two.clone();
        assert_eq!(Arc::strong_count(&keeper), 4);
        drop((one, two, three));
        assert_eq!(Arc::strong_count(&keeper), 1);
    }
}
