/** A self-signed TLS certificate made at run time, for tests that need https; written in DER here, so that no openssl is needed. */
import { generateKeyPairSync, randomBytes, sign, X509Certificate } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { isIPv4 } from 'node:net'
import { join } from 'node:path'
import tls from 'node:tls'

export interface Certificate {
  readonly cert: string
  readonly key: string
}

let trusted: Certificate | undefined

/**
 * The certificate of all test servers of this process, believed by every TLS connection that it opens, fetch included.
 * One for all: fetch reads the list of authorities once.
 */
export function trustedCertificate(): Certificate {
  if (trusted === undefined) {
    trusted = createCertificate(['localhost', '127.0.0.1', 'identity.test', 'shop.example', 'desk.example'])
    tls.setDefaultCACertificates([...tls.getCACertificates('default'), trusted.cert])
  }
  return trusted
}

/** For a server that reads its certificate from files. */
export async function writeCertificate(
  { cert, key }: Certificate,
  folder: string,
): Promise<{ certFile: string; keyFile: string }> {
  const certFile = join(folder, 'cert.pem')
  const keyFile = join(folder, 'key.pem')
  await writeFile(certFile, cert)
  await writeFile(keyFile, key, { mode: 0o600 })
  return { certFile, keyFile }
}

/** For the given DNS names and IPv4 addresses, valid from yesterday for 30 days from now. */
export function createCertificate(names: readonly string[], days = 30): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const name = sequence(set(sequence(oid(COMMON_NAME), utf8(names[0] ?? 'test'))))
  const day = 86_400_000
  const signedPart = sequence(
    explicit(0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    sequence(oid(ECDSA_WITH_SHA256)),
    name,
    sequence(time(Date.now() - Math.max(1, 1 - days) * day), time(Date.now() + days * day)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    explicit(3, sequence(extension(BASIC_CONSTRAINTS, sequence(boolean(true))), extension(ALT_NAMES, altNames(names)))),
  )
  const signature = sign('sha256', signedPart, privateKey)
  const der = sequence(signedPart, sequence(oid(ECDSA_WITH_SHA256)), bitString(signature))
  return {
    cert: new X509Certificate(der).toString(),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

const COMMON_NAME = '550403'
const ECDSA_WITH_SHA256 = '2a8648ce3d040302'
const BASIC_CONSTRAINTS = '551d13'
const ALT_NAMES = '551d11'

function altNames(names: readonly string[]): Buffer {
  return sequence(
    ...names.map((name) =>
      isIPv4(name) ? tagged(0x87, Buffer.from(name.split('.').map(Number))) : tagged(0x82, Buffer.from(name)),
    ),
  )
}

function extension(id: string, value: Buffer): Buffer {
  return sequence(oid(id), tagged(0x04, value))
}

function time(milliseconds: number): Buffer {
  return tagged(0x18, Buffer.from(`${new Date(milliseconds).toISOString().replace(/[-:T]|\.\d+/g, '')}`))
}

function oid(hex: string): Buffer {
  return tagged(0x06, Buffer.from(hex, 'hex'))
}

function integer(value: Buffer): Buffer {
  return tagged(0x02, value)
}

function boolean(value: boolean): Buffer {
  return tagged(0x01, Buffer.from([value ? 0xff : 0]))
}

function utf8(text: string): Buffer {
  return tagged(0x0c, Buffer.from(text))
}

function bitString(value: Buffer): Buffer {
  return tagged(0x03, Buffer.concat([Buffer.from([0]), value]))
}

function sequence(...parts: Buffer[]): Buffer {
  return tagged(0x30, Buffer.concat(parts))
}

function set(...parts: Buffer[]): Buffer {
  return tagged(0x31, Buffer.concat(parts))
}

function explicit(number: number, content: Buffer): Buffer {
  return tagged(0xa0 + number, content)
}

function tagged(tag: number, content: Buffer): Buffer {
  const size = content.length
  const length = size < 0x80 ? [size] : size < 0x100 ? [0x81, size] : [0x82, size >> 8, size & 0xff]
  return Buffer.concat([Buffer.from([tag, ...length]), content])
}
