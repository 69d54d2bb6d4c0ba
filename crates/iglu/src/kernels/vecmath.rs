//! Elementary functions of one number, written so that a loop over a slice becomes vector code.
//!
//! Every function is `#[inline(always)]`, has no branch and no table, and takes `const FMA: bool`: whether the
//! caller was compiled with fused multiply-add. Without that feature `mul_add` is a call into the C library, so
//! [`madd`] then multiplies and adds.
//!
//! In f32, with `n` the integer nearest to `x / ln 2` and `r = x - n ln 2`:
//!
//! ```text
//! exp x     = 2^n (1 + r + r^2 q(r))                        q of degree 4
//! exp x - 1 = 2^n (r + r^2 q(r)) + (2^n - 1)
//! ln (1+u)  = 2 atanh s = 2 (s + s^3 q(s^2))                q of degree 3, s = u / (2 + u), 0 <= u <= 1
//! Phi(-x)   = exp(-x^2/2) p(t) / (x + c)                    p of degree 9, t = (x - c) / (x + c), x >= 0
//! erf x     = x p(x^2)                                      p of degree 5, |x| < 0.8
//!           = sign(x) (1 - 2 Phi(-sqrt(2) |x|))             beyond
//! ```
//!
//! The polynomials are minimax fits weighted by relative error, each below 2e-8; with the rounding of f32 the
//! results are within a few units in the last place, in the tails too. The functions below follow from these five
//! without cancellation. In f64 the standard library does the work, and a series and a continued fraction give the
//! error function to about 1e-15; they are slow, and serve the gradient checks only.
//!
//! NaN stays NaN, so that a diverged network is seen. The dispatch on the features of the processor is the
//! caller's.
//!
//! ```
//! use iglu::kernels::vecmath::gelu;
//! assert!((gelu::<false>(1.0) - 0.841345).abs() < 1e-6);
//! ```
#![expect(
    clippy::inline_always,
    reason = "a call in the loop over a slice would keep it from being vectorised"
)]

#[cfg(feature = "f64")]
use self::double as number;
#[cfg(not(feature = "f64"))]
use self::single as number;
use crate::Real;
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

/// `1 / sqrt(2 pi)`, the density of the normal distribution at 0.
const DENSITY_AT_0: Real = (0.5 * FRAC_2_SQRT_PI * FRAC_1_SQRT_2) as Real;

/// `a b + c`: fused where the processor has it, two operations elsewhere.
#[inline(always)]
pub fn madd<const FMA: bool>(a: Real, b: Real, c: Real) -> Real {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// `e^x`: 0 far below, infinity far above.
#[inline(always)]
pub fn exp<const FMA: bool>(x: Real) -> Real {
    number::exp::<FMA>(x)
}

/// `tanh x = (e^{2x} - 1) / (e^{2x} + 1)`, computed for `|x|`; 1 from `|x| = 20` on.
#[inline(always)]
pub fn tanh<const FMA: bool>(x: Real) -> Real {
    let e = number::exp_m1::<FMA>(2.0 * at_most(x.abs(), 20.0));
    (e / (e + 2.0)).copysign(x)
}

/// The logistic function `1 / (1 + e^{-x})`.
#[inline(always)]
pub fn sigmoid<const FMA: bool>(x: Real) -> Real {
    let e = number::exp::<FMA>(-x.abs());
    (if x < 0.0 { e } else { 1.0 }) / (1.0 + e)
}

/// [`sigmoid`], and `ln(1 + e^{-|x|})`, which is made of the same exponential.
#[inline(always)]
pub fn sigmoid_and_log<const FMA: bool>(x: Real) -> [Real; 2] {
    let e = number::exp::<FMA>(-x.abs());
    [(if x < 0.0 { e } else { 1.0 }) / (1.0 + e), number::ln_1p::<FMA>(e)]
}

/// Softplus `ln(1 + e^x) = max(x, 0) + ln(1 + e^{-|x|})`.
#[inline(always)]
pub fn ln_1p_exp<const FMA: bool>(x: Real) -> Real {
    at_least(x, 0.0) + number::ln_1p::<FMA>(number::exp::<FMA>(-x.abs()))
}

/// The error function `2 / sqrt(pi) * integral of e^{-t^2} from 0 to x`.
#[inline(always)]
pub fn erf<const FMA: bool>(x: Real) -> Real {
    number::erf::<FMA>(x)
}

/// GELU `x Phi(x) = x (1 + erf(x / sqrt 2)) / 2`; in f32 it is 0 from -8 down.
#[inline(always)]
pub fn gelu<const FMA: bool>(x: Real) -> Real {
    gelu_and_grad::<FMA>(x).0
}

/// Derivative of [`gelu`]: `Phi(x) + x phi(x)`, with `phi(x) = e^{-x^2/2} / sqrt(2 pi)`.
#[inline(always)]
pub fn gelu_grad<const FMA: bool>(x: Real) -> Real {
    gelu_and_grad::<FMA>(x).1
}

/// [`gelu`] and [`gelu_grad`] together.
#[inline(always)]
pub fn gelu_and_grad<const FMA: bool>(x: Real) -> (Real, Real) {
    let there = if x < -number::GELU_END { 0.0 } else { 1.0 };
    let x = at_least(x, -number::GELU_END);
    let (cdf, density) = normal::<FMA>(x);
    (there * x * cdf, there * madd::<FMA>(at_most(x, number::TAIL_END), density, cdf))
}

/// ELU: `x` above 0, `e^x - 1` below. Its derivative is 1 above and `elu(x) + 1` below.
#[inline(always)]
pub fn elu<const FMA: bool>(x: Real) -> Real {
    if x > 0.0 { x } else { number::exp_m1::<FMA>(at_most(x, 0.0)) }
}

/// Distribution `Phi(x)` and density `phi(x)` of the standard normal distribution.
#[inline(always)]
fn normal<const FMA: bool>(x: Real) -> (Real, Real) {
    let (tail, bell) = number::upper_tail::<FMA>(x.abs());
    (if x < 0.0 { tail } else { 1.0 - tail }, DENSITY_AT_0 * bell)
}

/// `min(x, high)` that keeps NaN.
#[inline(always)]
fn at_most(x: Real, high: Real) -> Real {
    if x > high { high } else { x }
}

/// `max(x, low)` that keeps NaN.
#[inline(always)]
fn at_least(x: Real, low: Real) -> Real {
    if x < low { low } else { x }
}

/// The functions in f32.
#[cfg(not(feature = "f64"))]
mod single {
    use super::{at_least, at_most, madd};
    use std::f32::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, LOG2_E, SQRT_2};

    /// Beyond it the upper tail of the normal distribution is 0 in f32.
    pub const TAIL_END: f32 = 15.0;
    /// From there down GELU, not more than 1e-14 in size, is 0: what is far smaller still leaves the range of normal numbers
    /// somewhere in a network, and some processors are very slow with such numbers.
    pub const GELU_END: f32 = 8.0;

    /// `ln 2` in two parts; the first has 9 bits, so that its product with an exponent is exact.
    const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
    /// Adding `1.5 * 2^23` rounds to an integer and leaves it in the low bits.
    const ROUND: f32 = 12_582_912.0;
    const EXP: [f32; 5] = [0.5, 0.16666542, 0.04166628, 0.008366698, 0.0013946646];
    const ATANH: [f32; 4] = [0.33333206, 0.20010886, 0.13998932, 0.14015637];
    const ERF: [f32; 6] =
        [FRAC_2_SQRT_PI, -0.37612602, 0.11283113, -0.026820807, 0.0050851307, -0.0006535236];
    const TAIL_CENTRE: f32 = 3.5;
    const TAIL: [f32; 10] = [
        0.74441606,
        -0.5655617,
        0.3154251,
        -0.1160532,
        0.017405707,
        0.006493838,
        -0.0031723336,
        -0.0004950373,
        0.0004176298,
        0.00010830039,
    ];

    #[inline(always)]
    pub fn exp<const FMA: bool>(x: f32) -> f32 {
        exp_sum::<FMA>(at_most(at_least(x, -105.0), 89.0), 0.0)
    }

    /// `e^x - 1` for `x <= 80`.
    #[inline(always)]
    pub fn exp_m1<const FMA: bool>(x: f32) -> f32 {
        let (n, r) = reduce::<FMA>(at_least(x, -25.0), 0.0);
        let scale = power_of_two(n);
        madd::<FMA>(scale, fraction::<FMA>(r), scale - 1.0)
    }

    /// `ln(1 + u)` for `0 <= u <= 1`.
    #[inline(always)]
    pub fn ln_1p<const FMA: bool>(u: f32) -> f32 {
        let s = u / (2.0 + u);
        let z = s * s;
        2.0 * madd::<FMA>(s * z, polynomial::<FMA, 4>(&ATANH, z), s)
    }

    #[inline(always)]
    pub fn erf<const FMA: bool>(x: f32) -> f32 {
        let a = at_most(x.abs(), TAIL_END * FRAC_1_SQRT_2);
        let near = a * polynomial::<FMA, 6>(&ERF, a * a);
        let far = madd::<FMA>(-2.0, upper_tail::<FMA>(a * SQRT_2).0, 1.0);
        (if a < 0.8 { near } else { far }).copysign(x)
    }

    /// `Phi(-x)` and `exp(-x^2/2)` for `x >= 0`. `x` is cut in two so that its square loses no bit: an error in
    /// the exponent would be multiplied by the exponent.
    #[inline(always)]
    pub fn upper_tail<const FMA: bool>(x: f32) -> (f32, f32) {
        let x = at_most(x, TAIL_END);
        let high = f32::from_bits(x.to_bits() & 0xffff_f000);
        let bell = exp_sum::<FMA>(-0.5 * high * high, -0.5 * (x - high) * (x + high));
        let q = 1.0 / (x + TAIL_CENTRE);
        let ratio = polynomial::<FMA, 10>(&TAIL, (x - TAIL_CENTRE) * q) * q;
        (bell * ratio, bell)
    }

    /// `e^{high + low}` for a sum in -120..=89. The scale is applied in two steps, as `2^n` alone can be too
    /// small or too large.
    #[inline(always)]
    fn exp_sum<const FMA: bool>(high: f32, low: f32) -> f32 {
        let (n, r) = reduce::<FMA>(high, low);
        let half = n >> 1;
        (1.0 + fraction::<FMA>(r)) * power_of_two(half) * power_of_two(n.wrapping_sub(half))
    }

    /// `n` and `r` with `high + low = n ln 2 + r`, `|r| <= ln 2 / 2`.
    #[inline(always)]
    fn reduce<const FMA: bool>(high: f32, low: f32) -> (i32, f32) {
        let shifted = madd::<FMA>(high + low, LOG2_E, ROUND);
        let n = shifted - ROUND;
        let r = madd::<FMA>(n, -LN_2[1], madd::<FMA>(n, -LN_2[0], high)) + low;
        ((shifted.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32), r)
    }

    /// `e^r - 1` for `|r| <= ln 2 / 2`.
    #[inline(always)]
    fn fraction<const FMA: bool>(r: f32) -> f32 {
        madd::<FMA>(r * r, polynomial::<FMA, 5>(&EXP, r), r)
    }

    /// `2^n` for n in -126..=127.
    #[inline(always)]
    fn power_of_two(n: i32) -> f32 {
        f32::from_bits((n.wrapping_add(127) as u32) << 23)
    }

    /// `c_0 + c_1 x + c_2 x^2 + ..` by Horner's rule.
    #[inline(always)]
    fn polynomial<const FMA: bool, const N: usize>(c: &[f32; N], x: f32) -> f32 {
        let mut sum = c[N - 1];
        for k in (0..N - 1).rev() {
            sum = madd::<FMA>(sum, x, c[k]);
        }
        sum
    }
}

/// The functions in f64: also the reference for the tests of the f32 ones.
#[cfg(any(test, feature = "f64"))]
mod double {
    use super::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

    /// Beyond it the upper tail of the normal distribution is 0 in f64.
    pub const TAIL_END: f64 = 39.0;
    /// From there down GELU is 0.
    #[cfg_attr(not(feature = "f64"), expect(dead_code, reason = "a reference is not cut"))]
    pub const GELU_END: f64 = TAIL_END;

    #[inline(always)]
    pub fn exp<const FMA: bool>(x: f64) -> f64 {
        x.exp()
    }

    #[inline(always)]
    pub fn exp_m1<const FMA: bool>(x: f64) -> f64 {
        x.exp_m1()
    }

    #[inline(always)]
    pub fn ln_1p<const FMA: bool>(u: f64) -> f64 {
        u.ln_1p()
    }

    #[inline(always)]
    pub fn erf<const FMA: bool>(x: f64) -> f64 {
        let a = x.abs();
        if a < 2.0 { erf_series(x) } else { (1.0 - erfc_fraction(a)).copysign(x) }
    }

    /// `Phi(-x)` and `exp(-x^2/2)` for `x >= 0`.
    #[inline(always)]
    pub fn upper_tail<const FMA: bool>(x: f64) -> (f64, f64) {
        let a = x * FRAC_1_SQRT_2;
        let erfc = if a < 2.0 { 1.0 - erf_series(a) } else { erfc_fraction(a) };
        (0.5 * erfc, (-0.5 * x * x).exp())
    }

    /// `erf x = 2 / sqrt(pi) e^{-x^2} sum_n 2^n x^{2n+1} / (1 3 .. (2n+1))`: all terms have the sign of `x`.
    fn erf_series(x: f64) -> f64 {
        let (mut term, mut sum) = (x, x);
        for n in 1..60 {
            term *= 2.0 * x * x / f64::from(2 * n + 1);
            sum += term;
        }
        FRAC_2_SQRT_PI * (-x * x).exp() * sum
    }

    /// `erfc x = e^{-x^2} / sqrt(pi) / (x + (1/2) / (x + (2/2) / (x + (3/2) / ..)))` for `x >= 2`.
    fn erfc_fraction(x: f64) -> f64 {
        let f = (1..=80).rev().fold(x, |f, k| x + 0.5 * f64::from(k) / f);
        0.5 * FRAC_2_SQRT_PI * (-x * x).exp() / f
    }
}

#[cfg(test)]
mod tests {
    use super::number;
    use super::{Real, double};

    /// A few units in the last place of `Real`.
    const TOLERANCE: f64 = if cfg!(feature = "f64") { 1e-13 } else { 4e-7 };
    const LIMITS: [Real; 8] = [
        Real::NEG_INFINITY,
        Real::MIN,
        -1e4,
        -Real::MIN_POSITIVE,
        Real::MIN_POSITIVE,
        1e4,
        Real::MAX,
        Real::INFINITY,
    ];

    /// Compares with `reference` on a dense grid over `-range..=range` and far outside, relative to the result or,
    /// where `floor` is larger, to `floor`. Fused and plain arithmetic both.
    fn check(name: &str, f: [fn(Real) -> Real; 2], reference: impl Fn(f64) -> f64, range: f64, floor: f64) {
        let steps = if cfg!(feature = "f64") { 20_000 } else { 400_000 };
        let grid = (-steps..=steps).map(|i| (range * f64::from(i) / f64::from(steps)) as Real);
        for x in grid.chain(LIMITS) {
            let expected = reference(f64::from(x));
            for f in f {
                let found = f64::from(f(x));
                let close = (found - expected).abs() <= TOLERANCE * expected.abs().max(floor);
                let overflow = found.is_infinite() && expected.abs() > f64::from(Real::MAX);
                assert!(close || found == expected || overflow, "{name}({x}) = {found}, not {expected}");
            }
        }
        assert!(f[0](Real::NAN).is_nan() && f[1](Real::NAN).is_nan(), "{name}(NaN) is NaN");
    }

    /// Results below the smallest normal number lose bits; that is no error of the formula.
    const TINY: f64 = 100.0 * Real::MIN_POSITIVE as f64;

    fn cdf(x: f64) -> f64 {
        let tail = double::upper_tail::<false>(x.abs()).0;
        if x < 0.0 { tail } else { 1.0 - tail }
    }

    #[test]
    fn the_exponential_family_agrees_with_the_standard_library() {
        check("exp", [super::exp::<false>, super::exp::<true>], double::exp::<false>, 110.0, TINY);
        check("tanh", [super::tanh::<false>, super::tanh::<true>], f64::tanh, 25.0, 0.0);
        let elu = |x: f64| if x > 0.0 { x } else { double::exp_m1::<false>(x) };
        check("elu", [super::elu::<false>, super::elu::<true>], elu, 30.0, 0.0);
    }

    #[test]
    fn the_logistic_family_agrees_with_the_standard_library() {
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        check("sigmoid", [super::sigmoid::<false>, super::sigmoid::<true>], sigmoid, 110.0, TINY);
        let softplus = |x: f64| x.max(0.0) + double::ln_1p::<false>((-x.abs()).exp());
        check("ln_1p_exp", [super::ln_1p_exp::<false>, super::ln_1p_exp::<true>], softplus, 110.0, TINY);
    }

    #[test]
    fn the_normal_family_agrees_with_the_series() {
        check("erf", [super::erf::<false>, super::erf::<true>], double::erf::<false>, 12.0, 0.0);
        let gelu = |x: f64| if x < -f64::from(number::GELU_END) { 0.0 } else { x * cdf(x) };
        check("gelu", [super::gelu::<false>, super::gelu::<true>], gelu, 16.0, TINY);
        // The derivative has a zero at -0.75: an absolute bound there.
        let density = |x: f64| (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt();
        let grad = move |x: f64| cdf(x) + if x.abs() > double::TAIL_END { 0.0 } else { x * density(x) };
        check("gelu_grad", [super::gelu_grad::<false>, super::gelu_grad::<true>], grad, 16.0, 1.0);
    }

    /// `(x, erf x, erfc x)`, from Python's `math.erf` and `math.erfc`.
    const ERF: [(f64, f64, f64); 13] = [
        (1e-8, 1.1283791670955126e-08, 0.9999999887162083),
        (0.1, 0.1124629160182849, 0.8875370839817152),
        (0.3, 0.3286267594591274, 0.6713732405408726),
        (0.5, 0.5204998778130465, 0.4795001221869535),
        (0.75, 0.7111556336535151, 0.28884436634648486),
        (1.0, 0.8427007929497149, 0.15729920705028513),
        (1.5, 0.9661051464753108, 0.033894853524689274),
        (2.0, 0.9953222650189527, 0.004677734981047265),
        (2.5, 0.999593047982555, 0.0004069520174449589),
        (3.0, 0.9999779095030014, 2.2090496998585438e-05),
        (4.0, 0.9999999845827421, 1.541725790028002e-08),
        (5.0, 0.9999999999984626, 1.5374597944280351e-12),
        (6.0, 1.0, 2.1519736712498916e-17),
    ];

    #[test]
    fn the_error_function_agrees_with_the_table() {
        for (x, erf, erfc) in ERF {
            assert!((double::erf::<false>(x) - erf).abs() <= 1e-15 * erf, "erf({x})");
            assert!((double::erf::<false>(-x) + erf).abs() <= 1e-15 * erf, "erf(-{x})");
            let tail = 2.0 * double::upper_tail::<false>(x * std::f64::consts::SQRT_2).0;
            assert!((tail - erfc).abs() <= 3e-14 * erfc, "erfc({x}) = {tail}, not {erfc}");
            let found = f64::from(super::erf::<false>(x as Real));
            assert!((found - erf).abs() <= TOLERANCE * erf, "erf({x}) = {found}, not {erf}");
        }
    }

    /// Numbers below the normal range are slow on some processors, and so are products that come near it.
    #[cfg(not(feature = "f64"))]
    #[test]
    fn gelu_is_nothing_or_far_above_the_smallest_numbers() {
        for i in 0..4000 {
            let x = -(i as Real) / 100.0;
            let (y, slope) = super::gelu_and_grad::<false>(x);
            let far = number::GELU_END < -x;
            assert_eq!((y == 0.0, slope == 0.0), (far || i == 0, far), "at {x}: {y}, {slope}");
            assert!(far || i == 0 || (y < -1e-16 && slope.abs() > 1e-16), "at {x}: {y}, {slope}");
        }
    }

    #[test]
    fn the_far_ends_are_exact() {
        let (low, high) = (Real::NEG_INFINITY, Real::INFINITY);
        assert_eq!(
            [super::exp::<false>(low), super::exp::<false>(0.0), super::exp::<false>(high)],
            [0.0, 1.0, high]
        );
        assert_eq!([super::tanh::<false>(low), super::tanh::<false>(high)], [-1.0, 1.0]);
        assert_eq!([super::erf::<false>(low), super::erf::<false>(high)], [-1.0, 1.0]);
        assert_eq!([super::sigmoid::<false>(low), super::sigmoid::<false>(high)], [0.0, 1.0]);
        assert_eq!([super::ln_1p_exp::<false>(low), super::ln_1p_exp::<false>(high)], [0.0, high]);
        assert_eq!([super::gelu::<false>(low), super::gelu::<false>(high)], [0.0, high]);
        assert_eq!([super::gelu_grad::<false>(low), super::gelu_grad::<false>(high)], [0.0, 1.0]);
        assert_eq!([super::elu::<false>(low), super::elu::<false>(high)], [-1.0, high]);
    }
}
