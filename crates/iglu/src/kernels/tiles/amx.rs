//! The matrix unit of some processors: eight registers of 16 rows of 64 bytes, and an instruction that multiplies two of
//! them.

use super::{SIDE, Square, Tile};
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

    /// Two rows of tiles times two columns of tiles, all of one length.
    #[expect(clippy::unused_self, reason = "who has a unit has set its shapes")]
    pub(super) fn square(&self, rows: [&[Tile]; 2], columns: [&[Tile]; 2]) -> Square {
        let depth = rows[0].len();
        let lengths = [rows[1], columns[0], columns[1]].map(<[Tile]>::len);
        assert_eq!(lengths, [depth; 3], "rows and columns of one length");
        let mut out = Square([[0.0; SIDE * SIDE]; 4]);
        if depth > 0 {
            // SAFETY: the shapes are set; every tile has 16 rows of 64 bytes, and the loop ends with the last of `depth`
            // tiles, which all four slices have; `out` has room for four.
            #[expect(unsafe_code, reason = "no safe interface to the unit")]
            unsafe {
                multiply(depth, rows.map(<[Tile]>::as_ptr), columns.map(<[Tile]>::as_ptr), &raw mut out);
            }
        }
        out
    }
}

/// The sums of `depth` tiles; four products for each four tiles that are loaded.
#[expect(unsafe_code, reason = "the instructions take addresses")]
unsafe fn multiply(depth: usize, rows: [*const Tile; 2], columns: [*const Tile; 2], out: *mut Square) {
    // SAFETY: what the caller promises.
    unsafe {
        asm!(
            "tilezero tmm0",
            "tilezero tmm1",
            "tilezero tmm2",
            "tilezero tmm3",
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
            "tilestored [{out} + {line}*1], tmm0",
            "tilestored [{out} + {line}*1 + {size}], tmm1",
            "tilestored [{out} + {line}*1 + 2*{size}], tmm2",
            "tilestored [{out} + {line}*1 + 3*{size}], tmm3",
            a = inout(reg) rows[0] => _,
            b = inout(reg) rows[1] => _,
            c = inout(reg) columns[0] => _,
            d = inout(reg) columns[1] => _,
            left = inout(reg) depth => _,
            out = in(reg) out,
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
