//! An allocator whose large blocks begin at a cache line. The system's begin 16 bytes into one: each row of a table then
//! touches a line more than it fills, and every wide load two lines. Blocks that are large enough ask for large pages
//! ([`super::pages`]), whatever they are for: features that were read from a file are gathered at random as well.
//!
//! It belongs to programs (`#[global_allocator]`), never to a library's users.

use super::pages;
use std::alloc::{GlobalAlloc, Layout, System};

/// Bytes of a cache line.
const LINE: usize = 64;
/// Smaller blocks are left to the system.
const LEAST: usize = 16 << 10;

/// The system's allocator with large blocks on cache lines.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lines;

/// The block that is asked of the system for one on a line: room to move the start, and in the word before the start how
/// far it was moved.
fn roomy(layout: Layout) -> Option<Layout> {
    let large = layout.size() >= LEAST && layout.align() <= align_of::<usize>();
    let size = layout.size().checked_add(LINE)?;
    large.then(|| Layout::from_size_align(size, align_of::<usize>()).ok()).flatten()
}

/// Bytes from the start of the system's block to the next line that leaves room for a word.
fn shift(base: *mut u8) -> usize {
    LINE - (base as usize) % LINE
}

/// Notes before the moved start how far it was moved, and asks for large pages where `size` bytes are handed out.
///
/// # Safety
/// `base` is the start of a block of at least `size + LINE` bytes, aligned for words.
#[expect(
    unsafe_code,
    clippy::cast_ptr_alignment,
    reason = "an allocator's own bookkeeping; lines are aligned for words"
)]
unsafe fn on_line(base: *mut u8, size: usize) -> *mut u8 {
    // SAFETY: the shift is one to eight words, so that the word before the new start lies in the block, aligned.
    unsafe {
        let start = base.add(shift(base));
        start.cast::<usize>().sub(1).write(shift(base));
        pages::advise_block(start, size);
        start
    }
}

/// The start of the system's block.
///
/// # Safety
/// `start` comes from [`on_line`].
#[expect(
    unsafe_code,
    clippy::cast_ptr_alignment,
    reason = "an allocator's own bookkeeping; lines are aligned for words"
)]
unsafe fn base(start: *mut u8) -> *mut u8 {
    // SAFETY: the word before the start was written by `on_line`.
    unsafe { start.sub(start.cast::<usize>().sub(1).read()) }
}

#[expect(unsafe_code, reason = "an allocator is unsafe by nature")]
// SAFETY: blocks are the system's, those of `roomy` layouts with their start moved inside them; which they are is seen from
// the layout alone, that callers must give back unchanged.
unsafe impl GlobalAlloc for Lines {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promised; a block that is moved has `LINE` bytes more than its layout.
        unsafe {
            let Some(roomy) = roomy(layout) else { return System.alloc(layout) };
            let block = System.alloc(roomy);
            if block.is_null() { block } else { on_line(block, layout.size()) }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `alloc`; the noted word lies before the zeros that are handed out.
        unsafe {
            let Some(roomy) = roomy(layout) else { return System.alloc_zeroed(layout) };
            let block = System.alloc_zeroed(roomy);
            if block.is_null() { block } else { on_line(block, layout.size()) }
        }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: the same layout decides as when the block was made.
        unsafe {
            match roomy(layout) {
                None => System.dealloc(start, layout),
                Some(roomy) => System.dealloc(base(start), roomy),
            }
        }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises a size that makes a layout; both kinds of block are moved as a whole, and where one
        // becomes the other the bytes that both have are copied. Contents shifted otherwise than the new start are moved
        // inside the new block, which has room for the longer shift.
        unsafe {
            let new = Layout::from_size_align_unchecked(size, layout.align());
            let (Some(from), Some(to)) = (roomy(layout), roomy(new)) else {
                if roomy(layout).is_none() && roomy(new).is_none() {
                    return System.realloc(start, layout, size);
                }
                let moved = self.alloc(new);
                if !moved.is_null() {
                    moved.copy_from_nonoverlapping(start, layout.size().min(size));
                    self.dealloc(start, layout);
                }
                return moved;
            };
            let old = start as usize - base(start) as usize;
            let block = System.realloc(base(start), from, to.size());
            if !block.is_null() && shift(block) != old {
                block.add(shift(block)).copy_from(block.add(old), layout.size().min(size));
            }
            if block.is_null() { block } else { on_line(block, size) }
        }
    }
}

/// Has the C library of GNU keep memory together, for programs whose threads seldom ask; called before there are threads.
///
/// All threads take from one heap, where it would make one for each: what one has given back is there for all. Blocks that
/// are large enough for large pages are mapped alone and go back to the system at once. By itself the library would take
/// blocks of up to 32 MiB from the heap once one of that size was given back, and keep the gaps that they leave.
pub fn keep_memory_together() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        use std::ffi::c_int;
        const MOST_HEAPS: c_int = -8;
        const MAPPED_ALONE_FROM: c_int = -3;
        const KEPT_AT_THE_END: c_int = -1;
        #[expect(unsafe_code, reason = "the C library's function")]
        unsafe extern "C" {
            fn mallopt(what: c_int, value: c_int) -> c_int;
        }
        // SAFETY: the calls take two numbers; one that the library does not know changes nothing.
        #[expect(unsafe_code, reason = "the C library is told")]
        unsafe {
            mallopt(MOST_HEAPS, 1);
            mallopt(MAPPED_ALONE_FROM, pages::LEAST as c_int);
            mallopt(KEPT_AT_THE_END, 64 << 20);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block with a known pattern, resized many times.
    #[test]
    #[expect(unsafe_code, reason = "an allocator is called directly")]
    fn blocks_begin_at_lines_and_keep_their_bytes() {
        let sizes =
            [1, LEAST - 1, LEAST, LEAST + 1, 3 * LEAST, 200 << 10, 5 << 20, 40 << 20, 70 << 10, LEAST, 100];
        let layout = |size| Layout::from_size_align(size, 4).expect("a small layout");
        for zeroed in [false, true] {
            for (i, &first) in sizes.iter().enumerate() {
                // SAFETY: every block is used within its size and given back with its layout.
                unsafe {
                    let mut block =
                        if zeroed { Lines.alloc_zeroed(layout(first)) } else { Lines.alloc(layout(first)) };
                    if zeroed {
                        assert!(
                            std::slice::from_raw_parts(block, first).iter().all(|b| *b == 0),
                            "{first} zeros"
                        );
                    }
                    for j in 0..first {
                        block.add(j).write((j % 251) as u8);
                    }
                    let (mut known, mut size) = (first, first);
                    for &next in sizes[i..].iter().chain(&sizes) {
                        block = Lines.realloc(block, layout(size), next);
                        (size, known) = (next, known.min(next));
                        assert!(
                            size < LEAST || (block as usize).is_multiple_of(LINE),
                            "{size} bytes begin at {block:?}"
                        );
                        let bytes = std::slice::from_raw_parts(block, known);
                        assert!(
                            bytes.iter().enumerate().all(|(j, b)| *b == (j % 251) as u8),
                            "{first} to {next}"
                        );
                    }
                    Lines.dealloc(block, layout(size));
                }
            }
        }
    }

    #[test]
    fn large_alignments_and_sizes_out_of_range_are_the_systems() {
        assert_eq!(roomy(Layout::from_size_align(1 << 20, 4096).expect("a layout")), None);
        assert_eq!(roomy(Layout::from_size_align(isize::MAX as usize - 7, 8).expect("a layout")), None);
    }
}
