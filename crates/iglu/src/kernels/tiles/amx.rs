//! The matrix unit of some processors: eight registers of 16 rows of 64 bytes, and an instruction that multiplies two of
//! them.

use super::{Factors, Into, RowsMut, SIDE, Square, Tile};
use std::arch::asm;
use std::arch::x86_64::{__cpuid_count, _xgetbv};
use std::ffi::c_long;
use std::marker::PhantomData;
use std::sync::OnceLock;

/// Shapes of the registers: 16 rows of 64 bytes, all eight.
#[repr(C, align(64))]
struct Shapes {
    palette: u8,
    start: u8,
    reserved: [u8; 14],
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

static SHAPES: Shapes = {
    let (mut row_bytes, mut rows) = ([0; 16], [0; 16]);
    let mut register = 0;
    while register < 8 {
        (row_bytes[register], rows[register]) = (4 * SIDE as u16, SIDE as u8);
        register += 1;
    }
    Shapes { palette: 1, start: 0, reserved: [0; 14], row_bytes, rows }
};

/// The unit of the core that runs the present thread, in use until this is dropped.
pub(super) struct Unit {
    /// Shapes belong to the thread that has set them.
    here: PhantomData<*const ()>,
}

/// Whether the processor has the unit, and the system lets this process use it.
pub(super) fn usable() -> bool {
    static USABLE: OnceLock<bool> = OnceLock::new();
    *USABLE.get_or_init(|| reported() && saved() && permitted())
}

/// Registers, and products of bf16.
fn reported() -> bool {
    const TILES: u32 = 1 << 24;
    const BF16: u32 = 1 << 22;
    __cpuid_count(0, 0).eax >= 7 && __cpuid_count(7, 0).edx & (TILES | BF16) == TILES | BF16
}

/// Whether the system saves the registers when it switches threads.
fn saved() -> bool {
    const SHAPES_AND_DATA: u64 = 3 << 17;
    if !is_x86_feature_detected!("xsave") {
        return false;
    }
    // SAFETY: the processor has the instruction, and the system has switched it on.
    #[expect(unsafe_code, reason = "asks the processor")]
    let on = unsafe { _xgetbv(0) };
    on & SHAPES_AND_DATA == SHAPES_AND_DATA
}

/// Linux gives the large registers to processes that ask for them, to all their threads.
fn permitted() -> bool {
    const ARCH_PRCTL: c_long = 158;
    const REQUEST_PERMISSION: c_long = 0x1023;
    const TILE_DATA: c_long = 18;
    #[expect(unsafe_code, reason = "the C library's function")]
    unsafe extern "C" {
        fn syscall(number: c_long, ...) -> c_long;
    }
    // SAFETY: the call takes two numbers and changes nothing but what the process may do.
    #[expect(unsafe_code, reason = "the system is asked for permission")]
    let answer = unsafe { syscall(ARCH_PRCTL, REQUEST_PERMISSION, TILE_DATA) };
    answer == 0
}

impl Unit {
    pub(super) fn new() -> Option<Self> {
        if !usable() {
            return None;
        }
        // SAFETY: the unit may be used, and the shapes are those of its only palette.
        #[expect(unsafe_code, reason = "no safe interface to the unit")]
        unsafe {
            asm!("ldtilecfg [{shapes}]", shapes = in(reg) &raw const SHAPES, options(nostack, readonly, preserves_flags));
        }
        Some(Self { here: PhantomData })
    }

    /// Adds the sums of tiles to those that are there.
    pub(super) fn square(&self, factors: Factors<'_>, sums: &mut Square) {
        let out =
            Out { at: [0, 1, 2, 3].map(|i| (&raw mut sums.0[i]).cast()), line: 4 * SIDE, into: Into::Add };
        // SAFETY: four tiles of 16 rows of 64 bytes, one after the other.
        #[expect(unsafe_code, reason = "no safe interface to the unit")]
        unsafe {
            self.run(factors, out);
        }
    }

    /// The sums of tiles straight to a place of `c`, if that has room for all of them.
    pub(super) fn square_within(
        &self,
        factors: Factors<'_>,
        c: &mut RowsMut<'_>,
        (row, col): (usize, usize),
        into: Into,
    ) -> bool {
        if row + 2 * SIDE > c.rows || col + 2 * SIDE > c.cols {
            return false;
        }
        let stride = c.stride;
        let last = (row + 2 * SIDE - 1) * stride + col + 2 * SIDE;
        let square = &mut c.data[row * stride + col..last];
        let begin = square.as_mut_ptr();
        let at = [0, SIDE, SIDE * stride, SIDE * stride + SIDE].map(|from| begin.wrapping_add(from).cast());
        // SAFETY: the square has 32 rows of 32 numbers, `stride` apart: its first and last ones are in `c`.
        #[expect(unsafe_code, reason = "no safe interface to the unit")]
        unsafe {
            self.run(factors, Out { at, line: stride * size_of::<f32>(), into });
        }
        true
    }

    /// # Safety
    /// Every place of `out` must have room for 16 rows of 64 bytes.
    #[expect(unsafe_code, reason = "no safe interface to the unit")]
    #[expect(clippy::unused_self, reason = "who has a unit has set its shapes")]
    unsafe fn run(&self, factors: Factors<'_>, out: Out) {
        let Factors { rows, columns } = factors;
        let depth = rows[0].len();
        // One by one: an array of them would be put into memory, and reading it waits for all sums that are being stored.
        let same = rows[1].len() == depth && columns[0].len() == depth && columns[1].len() == depth;
        assert!(same, "rows and columns of one length");
        // SAFETY: the shapes are set; every tile has 16 rows of 64 bytes, and the loop ends with the last of `depth`
        // tiles, which all four slices have; the caller has promised the rest.
        unsafe { multiply(depth, rows.map(<[Tile]>::as_ptr), columns.map(<[Tile]>::as_ptr), out) }
    }
}

/// Where the sums of four tiles go: rows of 64 bytes, `line` bytes apart.
#[derive(Clone, Copy)]
struct Out {
    at: [*mut f32; 4],
    line: usize,
    into: Into,
}

/// The sums of `depth` tiles; four products for each four tiles that are loaded.
#[expect(unsafe_code, reason = "the instructions take addresses")]
unsafe fn multiply(depth: usize, rows: [*const Tile; 2], columns: [*const Tile; 2], out: Out) {
    // SAFETY: what the caller promises.
    unsafe {
        asm!(
            "test {add:e}, {add:e}",
            "jnz 3f",
            "tilezero tmm0",
            "tilezero tmm1",
            "tilezero tmm2",
            "tilezero tmm3",
            "jmp 4f",
            "3:",
            "tileloadd tmm0, [{e} + {to}*1]",
            "tileloadd tmm1, [{f} + {to}*1]",
            "tileloadd tmm2, [{g} + {to}*1]",
            "tileloadd tmm3, [{h} + {to}*1]",
            "4:",
            "test {left}, {left}",
            "jz 5f",
            "2:",
            "tileloadd tmm4, [{a} + {line}*1]",
            "tileloadd tmm6, [{c} + {line}*1]",
            "tileloadd tmm7, [{d} + {line}*1]",
            "tdpbf16ps tmm0, tmm4, tmm6",
            "tileloadd tmm5, [{b} + {line}*1]",
            "tdpbf16ps tmm1, tmm4, tmm7",
            "tdpbf16ps tmm2, tmm5, tmm6",
            "tdpbf16ps tmm3, tmm5, tmm7",
            "add {a}, {size}",
            "add {b}, {size}",
            "add {c}, {size}",
            "add {d}, {size}",
            "dec {left}",
            "jnz 2b",
            "5:",
            "tilestored [{e} + {to}*1], tmm0",
            "tilestored [{f} + {to}*1], tmm1",
            "tilestored [{g} + {to}*1], tmm2",
            "tilestored [{h} + {to}*1], tmm3",
            a = inout(reg) rows[0] => _,
            b = inout(reg) rows[1] => _,
            c = inout(reg) columns[0] => _,
            d = inout(reg) columns[1] => _,
            left = inout(reg) depth => _,
            e = in(reg) out.at[0],
            f = in(reg) out.at[1],
            g = in(reg) out.at[2],
            h = in(reg) out.at[3],
            to = in(reg) out.line,
            add = in(reg) u32::from(out.into == Into::Add),
            line = in(reg) 4 * SIDE,
            size = const size_of::<Tile>(),
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack),
        );
    }
}

impl Drop for Unit {
    fn drop(&mut self) {
        // SAFETY: the unit is in use.
        #[expect(unsafe_code, reason = "no safe interface to the unit")]
        unsafe {
            asm!("tilerelease", options(nomem, nostack, preserves_flags));
        }
    }
}
