/** PostgreSQL's numeric in binary, as Bind and COPY send it: groups of four decimal digits. */

const NEGATIVE = 0x4000
const NAN = 0xc000
const HEADER_BYTES = 8

/** The number as text, exactly; undefined if the bytes are not a numeric. Digits beyond the scale are left out, as PostgreSQL does. */
export function readNumeric(bytes: Buffer): string | undefined {
  if (bytes.length < HEADER_BYTES) return undefined
  const count = bytes.readUInt16BE(0)
  const weight = bytes.readInt16BE(2)
  const sign = bytes.readUInt16BE(4)
  const scale = bytes.readUInt16BE(6)
  if (sign === NAN) return 'NaN'
  if (bytes.length !== HEADER_BYTES + 2 * count || (sign !== 0 && sign !== NEGATIVE)) return undefined
  // No number that IQL has is longer.
  if (Math.abs(weight) > 100 || count > 100 || scale > 400) return undefined
  let whole = ''
  let fraction = ''
  for (let group = 0; group < count; group++) {
    const value = bytes.readUInt16BE(HEADER_BYTES + 2 * group)
    if (value > 9999) return undefined
    const digits = String(value).padStart(4, '0')
    if (group <= weight) whole += digits
    else fraction += digits
  }
  whole = whole.padEnd(4 * Math.max(0, weight + 1), '0')
  if (weight < -1) fraction = '0000'.repeat(-weight - 1) + fraction
  fraction = fraction.slice(0, Math.max(scale, 0)).padEnd(scale, '0')
  const text = whole.replace(/^0+(?=\d)/, '') || '0'
  return `${sign === NEGATIVE ? '-' : ''}${text}${fraction === '' ? '' : `.${fraction}`}`
}
