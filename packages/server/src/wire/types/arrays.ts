/** Decodes arrays of one dimension, in text and binary: the parameters of `= ANY($1)` and `<> ALL($1)`. */

import { typeNamed } from './oids.ts'
import { BadParameter } from './parameters.ts'

/** The elements, each as its own value would be sent; null for NULL. An array with more than `most` is not read to its end. */
export function readArray(bytes: Buffer, isBinary: boolean, most: number): readonly (Buffer | null)[] {
  return isBinary ? readBinary(bytes, most) : readText(bytes, most)
}

/** Dimensions, whether there are NULLs, the type of the elements; for each dimension its length and lower bound; the elements. */
function readBinary(bytes: Buffer, most: number): readonly (Buffer | null)[] {
  if (bytes.length < 12) throw notBinary()
  const dimensions = bytes.readInt32BE(0)
  if (dimensions === 0) return []
  if (dimensions !== 1) throw new BadParameter('has more than one dimension', '2202E')
  if (typeNamed(bytes.readUInt32BE(8)) === undefined) throw new BadParameter('has elements of an unknown type', '42804')
  if (bytes.length < 20) throw notBinary()
  const count = bytes.readInt32BE(12)
  if (count < 0) throw notBinary()
  if (count > most) throw tooLong(most)
  const elements: (Buffer | null)[] = []
  let at = 20
  for (let index = 0; index < count; index++) {
    if (at + 4 > bytes.length) throw notBinary()
    const length = bytes.readInt32BE(at)
    at += 4
    if (length === -1) elements.push(null)
    else {
      if (length < 0 || at + length > bytes.length) throw notBinary()
      elements.push(bytes.subarray(at, at + length))
      at += length
    }
  }
  if (at !== bytes.length) throw notBinary()
  return elements
}

const [OPEN, CLOSE, COMMA, QUOTE, BACKSLASH] = [...'{},"\\'].map((character) => character.charCodeAt(0))

/** {1,NULL,"a \"quoted\" text"}. What has a meaning here is ASCII, so that the bytes of UTF-8 can be read as they are. */
function readText(bytes: Buffer, most: number): readonly (Buffer | null)[] {
  const [start, end] = trimmed(bytes, 0, bytes.length)
  if (bytes[start] !== OPEN || end - start < 2 || bytes[end - 1] !== CLOSE)
    throw new BadParameter('is not an array such as {1,2}')
  const elements: (Buffer | null)[] = []
  let at = start + 1
  while (at < end - 1) {
    if (elements.length === most) throw tooLong(most)
    const element = readElement(bytes, at, end - 1)
    elements.push(element.value)
    at = element.end
    if (at < end - 1 && bytes[at] !== COMMA) throw notText()
    at++
  }
  return elements
}

function readElement(bytes: Buffer, from: number, end: number): { value: Buffer | null; end: number } {
  const [first] = trimmed(bytes, from, end)
  if (bytes[first] === QUOTE) {
    const close = scan(bytes, first + 1, end, (byte) => byte === QUOTE)
    if (close === end) throw notText()
    const [after] = trimmed(bytes, close + 1, end)
    return { value: unescaped(bytes.subarray(first + 1, close)), end: after }
  }
  const stop = scan(bytes, from, end, (byte) => byte === COMMA || byte === QUOTE || byte === OPEN || byte === CLOSE)
  const word = bytes.subarray(...trimmed(bytes, from, stop))
  if (stop === from) throw notText()
  const isNull = word.length === 4 && word.toString('latin1').toUpperCase() === 'NULL'
  return { value: isNull ? null : unescaped(word), end: stop }
}

/** Where the first byte is that ends an element and has no backslash before it. */
function scan(bytes: Buffer, from: number, end: number, isEnd: (byte: number) => boolean): number {
  for (let at = from; at < end; at++) {
    const byte = bytes[at] ?? 0
    if (byte === BACKSLASH) at++
    else if (isEnd(byte)) return at
  }
  return end
}

function unescaped(bytes: Buffer): Buffer {
  const first = bytes.indexOf(BACKSLASH ?? 0)
  if (first === -1) return bytes
  const plain = Buffer.alloc(bytes.length)
  let length = bytes.copy(plain, 0, 0, first)
  for (let at = first; at < bytes.length; at++) {
    if (bytes[at] === BACKSLASH) at++
    if (at < bytes.length) plain[length++] = bytes[at] ?? 0
  }
  return plain.subarray(0, length)
}

function trimmed(bytes: Buffer, from: number, to: number): [start: number, end: number] {
  let [start, end] = [from, to]
  while (start < end && isSpace(bytes[start])) start++
  while (end > start && isSpace(bytes[end - 1])) end--
  return [start, end]
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || (byte !== undefined && byte >= 0x09 && byte <= 0x0d)
}

function notText(): BadParameter {
  return new BadParameter('is not an array of one dimension such as {1,2}')
}

function notBinary(): BadParameter {
  return new BadParameter('is not an array in binary', '22P03')
}

function tooLong(most: number): BadParameter {
  return new BadParameter(`has more than ${most} elements`, '54000')
}
