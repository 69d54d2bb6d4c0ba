//! Files mapped into memory, seen as arrays of numbers in place. All `unsafe` of this crate is here.

use iglu::{Buffer, Keep};
use memmap2::Mmap;
#[cfg(unix)]
use memmap2::UncheckedAdvice;
use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

/// A file in memory.
pub(super) struct Map(Mmap);

impl Map {
    /// Maps the whole file. It must keep its length as long as the map lives.
    pub fn new(file: &File) -> io::Result<Self> {
        // SAFETY: the map is read-only and private to us. That nobody shortens or overwrites the file meanwhile cannot
        // be checked; it is the documented condition of the format, and our own writer replaces files instead.
        #[expect(unsafe_code, reason = "mapping a file is unsafe by nature")]
        let map = unsafe { Mmap::map(file)? };
        Ok(Self(map))
    }

    /// All bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Lets go of the pages of these bytes; who reads them again has them from the file.
    #[cfg(unix)]
    fn rest(&self, start: usize, length: usize) {
        // SAFETY: the map is read-only, so its pages hold nothing that the file does not.
        #[expect(unsafe_code, reason = "pages of a file are given back")]
        let told = unsafe { self.0.unchecked_advise_range(UncheckedAdvice::DontNeed, start, length) };
        // Without it more memory stays in use, and nothing else.
        drop(told);
    }
}

mod plain {
    /// Numbers that are valid whatever their bits are.
    pub trait Plain: Copy + Send + Sync + 'static {}
    impl Plain for u32 {}
    impl Plain for u64 {}
    impl Plain for f32 {}
}
pub(super) use plain::Plain;

/// A stretch of a map as numbers. Made by [`array`] only, which checks it.
struct Window<T> {
    map: Arc<Map>,
    start: usize,
    count: usize,
    numbers: PhantomData<T>,
}

impl<T: Plain> Keep<T> for Window<T> {
    fn values(&self) -> &[T] {
        let bytes = &self.map.bytes()[self.start..];
        // SAFETY: `array` has checked that `count` numbers fit between `start` and the end of the map and that the
        // first is aligned; the map neither moves nor changes its length, and lives as long as `self`. Any bits are a
        // valid number (`Plain`).
        #[expect(unsafe_code, reason = "bytes of a file seen as numbers")]
        unsafe {
            std::slice::from_raw_parts(bytes.as_ptr().cast::<T>(), self.count)
        }
    }

    fn can_rest(&self) -> bool {
        cfg!(unix)
    }

    fn rest(&self) {
        #[cfg(unix)]
        self.map.rest(self.start, self.count * size_of::<T>());
    }
}

/// Some bytes of a map as little-endian numbers, used in place; `None` where they do not fit or are not aligned.
pub(super) fn array<T: Plain>(map: &Arc<Map>, bytes: Range<usize>) -> Option<Buffer<T>> {
    let found = map.bytes().get(bytes.clone())?;
    let aligned = found.as_ptr().cast::<T>().is_aligned();
    if !aligned || !found.len().is_multiple_of(size_of::<T>()) || cfg!(target_endian = "big") {
        return None;
    }
    let count = found.len() / size_of::<T>();
    let window = Window::<T> { map: map.clone(), start: bytes.start, count, numbers: PhantomData };
    Some(Buffer::kept(Arc::new(window)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_fits_and_is_aligned_is_seen_as_numbers() {
        let path = crate::testing::folder("map").join("numbers");
        std::fs::write(&path, (0..24).collect::<Vec<u8>>()).unwrap();
        let map = Arc::new(Map::new(&File::open(&path).unwrap()).unwrap());
        let words = array::<u32>(&map, 8..16).unwrap();
        // The safe twin: bytes put together by hand.
        let (chunks, _) = map.bytes()[8..16].as_chunks();
        assert_eq!(words.to_vec(), chunks.iter().map(|b| u32::from_le_bytes(*b)).collect::<Vec<_>>());
        assert_eq!(words.as_ptr().cast::<u8>(), map.bytes()[8..].as_ptr(), "used in place");
        for bad in [1..9, 8..15, 16..25, 24..28] {
            assert!(array::<u32>(&map, bad.clone()).is_none(), "{bad:?}");
        }
        assert!(array::<u64>(&map, 4..12).is_none());
        assert_eq!(array::<u64>(&map, 24..24).unwrap().len(), 0);
        drop(map);
        words.rest();
        assert_eq!(words[0], 0x0b0a_0908, "the map lives with its last array, and what rests is read again");
        assert_eq!(words.can_rest(), cfg!(unix));
    }
}
