/** Codes of authenticator apps, and the picture that brings the secret into one. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { qrGrid } from '../../src/identity/pages/qr.ts'
import { newRecoveryCodes, recoveryDigest } from '../../src/identity/recovery-codes.ts'
import { base32, matchTotp, totpCode, totpUri } from '../../src/identity/totp.ts'

const SECRET = Buffer.from('12345678901234567890')

test('RFC 6238 appendix B: the codes of its table, in six digits', () => {
  const table = [
    [59, '287082'],
    [1111111109, '081804'],
    [1111111111, '050471'],
    [1234567890, '005924'],
    [2000000000, '279037'],
    [20000000000, '353130'],
  ] as const
  for (const [seconds, code] of table) {
    assert.equal(totpCode(SECRET, Math.floor(seconds / 30)), code)
    assert.equal(matchTotp(SECRET, code, seconds * 1000), Math.floor(seconds / 30))
  }
})

test('RFC 6238 §5.2: one step early or late is believed, two are not; spaces do not matter', () => {
  const now = 1_700_000_000_000
  const step = Math.floor(now / 30_000)
  for (const offset of [-1, 0, 1]) assert.equal(matchTotp(SECRET, totpCode(SECRET, step + offset), now), step + offset)
  for (const offset of [-2, 2]) assert.equal(matchTotp(SECRET, totpCode(SECRET, step + offset), now), undefined)
  const code = totpCode(SECRET, step)
  assert.equal(matchTotp(SECRET, `${code.slice(0, 3)} ${code.slice(3)}`, now), step)
  for (const wrong of ['', '12345', `${code}0`, 'abcdef', '😀']) assert.equal(matchTotp(SECRET, wrong, now), undefined)
})

test('RFC 4648 §10: base 32 without padding', () => {
  assert.equal(base32(Buffer.from('foobar')), 'MZXW6YTBOI')
  assert.equal(base32(Buffer.from('fooba')), 'MZXW6YTB')
  assert.equal(base32(Buffer.from('f')), 'MY')
})

test('the address for apps fits into a picture, whatever people are called', () => {
  assert.match(
    totpUri(SECRET, 'Gate House', 'al@ice'),
    /^otpauth:\/\/totp\/Gate%20House:al%40ice\?secret=[A-Z2-7]{32}&issuer=Gate%20House$/,
  )
  for (const name of ['x', 'ж'.repeat(20), '語'.repeat(100)]) {
    assert.ok(qrGrid(Buffer.from(totpUri(SECRET, name, name))).length <= 57)
  }
})

/** These pictures were read back with an independent reader (zbar) when they were pinned. */
test('ISO/IEC 18004: pictures of versions 1, 6, 9 and 10', () => {
  const address = 'otpauth://totp/Gatehouse:alice?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=Gatehouse'
  const longer =
    'otpauth://totp/A%20Very%20Long%20Brand%20Name:someone.with.a.long.name%40example.com?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=A%20Very%20Long%20Brand%20Name'
  const table = [
    ['HELLO', 21, 'w0bHWt1WmHNa_j9-'],
    [address, 41, 'ISSRwQbJ1lj1HDym'],
    [longer, 53, 'Djx53OZzl-94eWQv'],
    ['x'.repeat(210), 57, 'tQoX_hPgE7SJGGXZ'],
  ] as const
  for (const [text, edge, digest] of table) {
    const grid = qrGrid(Buffer.from(text))
    assert.equal(grid.length, edge)
    const drawn = grid.map((row) => row.map(Number).join('')).join('\n')
    assert.equal(createHash('sha256').update(drawn).digest('base64url').slice(0, 16), digest)
  }
  assert.throws(() => qrGrid(Buffer.alloc(214)))
})

test('recovery codes: ten, all different, long enough, read as people type them', () => {
  const codes = newRecoveryCodes()
  const key = Buffer.alloc(32, 1)
  assert.equal(new Set(codes).size, 10)
  for (const code of codes) {
    assert.match(code, /^([a-hjkmnp-z2-9]{4}-){3}[a-hjkmnp-z2-9]{4}$/)
    assert.equal(recoveryDigest(` ${code.toUpperCase().replaceAll('-', ' ')}`, key), recoveryDigest(code, key))
    assert.notEqual(recoveryDigest(code, Buffer.alloc(32, 2)), recoveryDigest(code, key))
  }
})
