/** Random texts of any code points. The unit `binary` of fast-check makes a table of them all first: 1.6 s in every process that uses it. */
import fc from 'fast-check'

/** Those of ASCII, which have a meaning in most languages, are as frequent as all others. Halves of surrogate pairs are not among them. */
const CHARACTER = fc
  .oneof(
    { weight: 2, arbitrary: fc.integer({ min: 0, max: 0x7f }) },
    { weight: 1, arbitrary: fc.integer({ min: 0x80, max: 0xd7ff }) },
    { weight: 1, arbitrary: fc.integer({ min: 0xe000, max: 0x10ffff }) },
  )
  .map((codePoint) => String.fromCodePoint(codePoint))

export function anyText(lengths: { readonly minLength?: number; readonly maxLength?: number } = {}) {
  return fc.string({ ...lengths, unit: CHARACTER })
}
