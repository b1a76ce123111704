/** The algorithms of JWT signatures (RFC 7518 §3.1, RFC 8037 §3.1) that this server uses and accepts, and how Node computes them. */
import { constants, type KeyObject, sign, verify } from 'node:crypto'

export const SIGNATURE_ALGS = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const
export type SignatureAlg = (typeof SIGNATURE_ALGS)[number]

/** Those of the FAPI 2.0 Security Profile (§5.4.1). */
export const FAPI_ALGS: readonly SignatureAlg[] = ['PS256', 'ES256', 'EdDSA']

export function isSignatureAlg(text: unknown): text is SignatureAlg {
  return SIGNATURE_ALGS.some((alg) => alg === text)
}

/** The first argument of Node's `sign` and `verify`; Ed25519 hashes by itself. */
function hashName(alg: SignatureAlg): 'sha256' | undefined {
  return alg === 'EdDSA' ? undefined : 'sha256'
}

/** The key with the parameters that the algorithm demands. RFC 7518 §3.5: the salt of PS256 is as long as the hash. */
function keyInput(alg: SignatureAlg, key: KeyObject) {
  if (alg !== 'PS256') return key
  return { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
}

/** On Node's thread pool for RSA, which takes 0.6 ms; the others take less than handing them over. */
export function createSignature(alg: SignatureAlg, key: KeyObject, input: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (alg === 'ES256') resolve(joined(sign(hashName(alg), input, key)))
    else if (alg === 'EdDSA') resolve(sign(hashName(alg), input, key))
    else
      sign(hashName(alg), input, keyInput(alg, key), (error, signature) =>
        error === null ? resolve(signature) : reject(error),
      )
  })
}

export function isSigned(alg: SignatureAlg, key: KeyObject, input: Buffer, signature: Buffer): boolean {
  if (alg !== 'ES256') return verify(hashName(alg), input, keyInput(alg, key), signature)
  return signature.length === 2 * NUMBER_BYTES && verify(hashName(alg), input, key, inAsn1(signature))
}

/**
 * RFC 7518 §3.4: a signature of ES256 is r and s, 32 bytes each. OpenSSL has them in ASN.1, and Node's own conversion
 * (`dsaEncoding`) takes 40 µs, where signing takes 35 and verifying 95.
 */
const NUMBER_BYTES = 32
const SEQUENCE = 0x30
const INTEGER = 0x02
const LONGEST_ASN1 = 2 + 2 * (2 + 1 + NUMBER_BYTES)

function inAsn1(signature: Buffer): Buffer {
  const asn1 = Buffer.alloc(LONGEST_ASN1)
  let at = 2
  for (const end of [NUMBER_BYTES, 2 * NUMBER_BYTES]) {
    const begin = firstDigit(signature, end - NUMBER_BYTES, end)
    // The highest bit of a number is its sign.
    const padding = signature.readUInt8(begin) < 0x80 ? 0 : 1
    asn1[at] = INTEGER
    asn1[at + 1] = padding + end - begin
    at += 2 + padding
    at += signature.copy(asn1, at, begin, end)
  }
  asn1[0] = SEQUENCE
  asn1[1] = at - 2
  return asn1.subarray(0, at)
}

/** From what OpenSSL made: the lengths are below 128, so that each takes one byte. */
function joined(asn1: Buffer): Buffer {
  const signature = Buffer.alloc(2 * NUMBER_BYTES)
  let at = 2
  for (const end of [NUMBER_BYTES, 2 * NUMBER_BYTES]) {
    const numberEnd = at + 2 + asn1.readUInt8(at + 1)
    const begin = firstDigit(asn1, at + 2, numberEnd)
    asn1.copy(signature, end - (numberEnd - begin), begin, numberEnd)
    at = numberEnd
  }
  return signature
}

/** Where a number begins without its leading zeros; of zero itself one stays. */
function firstDigit(bytes: Buffer, from: number, end: number): number {
  let at = from
  while (at < end - 1 && bytes[at] === 0) at += 1
  return at
}
