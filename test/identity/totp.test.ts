/** TOTP codes, the QR code that carries the secret to an authenticator app, and recovery codes. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { newRecoveryCodes, recoveryDigest } from '../../packages/server/src/identity/factors/recovery-codes.ts'
import { base32, matchTotp, totpCode, totpUri } from '../../packages/server/src/identity/factors/totp.ts'
import { qrSvg } from '../../packages/server/src/identity/pages/qr.ts'

const SECRET = Buffer.from('12345678901234567890')

test('RFC 6238 appendix B: the test vectors, in six digits', () => {
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

test('RFC 6238 §5.2: a code one step early or late is accepted, two steps are not; spaces are ignored', () => {
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

test('an otpauth URI fits a QR code of 57 modules at most, however long the names are', async () => {
  assert.match(
    totpUri(SECRET, 'Gate House', 'al@ice'),
    /^otpauth:\/\/totp\/Gate%20House:al%40ice\?secret=[A-Z2-7]{32}&issuer=Gate%20House$/,
  )
  for (const name of ['x', 'ж'.repeat(20), '語'.repeat(100)]) {
    const modules = await qrModules(totpUri(SECRET, name, name))
    assert.ok(modules.length <= 57)
  }
})

/** Each of these symbols was decoded by an independent reader (zbar) before its digest was pinned. */
test('ISO/IEC 18004: QR codes of versions 1, 6, 9 and 10', async () => {
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
    const modules = await qrModules(text)
    assert.equal(modules.length, edge)
    assert.equal(createHash('sha256').update(modules.join('\n')).digest('base64url').slice(0, 16), digest)
  }
})

test('the QR code is an image with a label, a quiet zone and no inline styles', async () => {
  const svg = String(await qrSvg('HELLO', 'Scan "me"'))
  assert.match(svg, /^<svg class="qr" role="img" aria-label="Scan &quot;me&quot;" viewBox="-4 -4 29 29" /)
  assert.doesNotMatch(svg, /style/)
})

/** The modules that the SVG draws, a line of 0 (light) and 1 (dark) for each row. */
async function qrModules(text: string): Promise<string[]> {
  const svg = String(await qrSvg(text, 'label'))
  const edge = Number(/ viewBox="-4 -4 (\d+) \1"/.exec(svg)?.[1]) - 8
  const path = / fill-rule="evenodd" d="([^"]*)"/.exec(svg)?.[1] ?? ''
  const polygons = [...path.matchAll(/M([^Z]*)Z/g)].map(([, points = '']) =>
    points.split('L').map((point) => point.split(' ').map(Number)),
  )
  // Even-odd rule: a module is dark when an odd number of vertical edges lies to the left of its centre.
  const crossings = Array.from({ length: edge }, () => Array<number>(edge + 1).fill(0))
  for (const points of polygons) {
    for (const [index, [x = 0, y = 0]] of points.entries()) {
      const [nextX = 0, nextY = 0] = points[(index + 1) % points.length] ?? []
      if (x !== nextX) continue
      for (let row = Math.min(y, nextY); row < Math.max(y, nextY); row++) {
        const line = crossings[row]
        if (line !== undefined) line[x] = (line[x] ?? 0) + 1
      }
    }
  }
  return crossings.map((line) => {
    let count = 0
    return line
      .slice(0, edge)
      .map((crossed) => {
        count += crossed
        return count % 2
      })
      .join('')
  })
}

test('recovery codes: ten different ones, and case, spaces and dashes do not matter', () => {
  const codes = newRecoveryCodes()
  const key = Buffer.alloc(32, 1)
  assert.equal(new Set(codes).size, 10)
  for (const code of codes) {
    assert.match(code, /^([a-hjkmnp-z2-9]{4}-){3}[a-hjkmnp-z2-9]{4}$/)
    assert.equal(recoveryDigest(` ${code.toUpperCase().replaceAll('-', ' ')}`, key), recoveryDigest(code, key))
    assert.notEqual(recoveryDigest(code, Buffer.alloc(32, 2)), recoveryDigest(code, key))
  }
})
