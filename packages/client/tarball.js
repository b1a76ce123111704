// A package as npm installs it from an address: files in the format ustar (POSIX.1-1988), compressed with gzip.
import { gzipSync } from 'node:zlib'

const BLOCK = 512

/** The paths are those in the package. The same files give the same bytes. */
export function createTarball(files) {
  const blocks = files.flatMap(({ path, content }) => [writeHeader(`package/${path}`, content.length), padded(content)])
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]), { level: 9 })
}

function writeHeader(path, size) {
  if (path.length > 100) throw new Error(`The path ${path} is too long for a header of ustar`)
  const header = Buffer.alloc(BLOCK)
  const octal = (value, length) => `${value.toString(8).padStart(length - 1, '0')}\0`
  header.write(path, 0)
  header.write(octal(0o644, 8), 100)
  header.write(octal(0, 8), 108)
  header.write(octal(0, 8), 116)
  header.write(octal(size, 12), 124)
  header.write(octal(0, 12), 136)
  header.write(' '.repeat(8), 148)
  header.write('0', 156)
  header.write('ustar\x0000', 257)
  header.write(
    `${octal(
      header.reduce((sum, byte) => sum + byte, 0),
      7,
    )} `,
    148,
  )
  return header
}

function padded(content) {
  return Buffer.concat([content, Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK)])
}
