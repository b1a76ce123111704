/** Decodes arrays of one dimension, in text and binary: the parameters of `= ANY($1)` and `<> ALL($1)`. */

import { typeNamed } from './oids.ts'
import { BadParameter } from './parameters.ts'

/** The elements, each as its own value would be sent; null for NULL. */
export function readArray(bytes: Buffer, isBinary: boolean): readonly (Buffer | null)[] {
  return isBinary ? readBinary(bytes) : readText(bytes.toString())
}

/** Dimensions, whether there are NULLs, the type of the elements; for each dimension its length and lower bound; the elements. */
function readBinary(bytes: Buffer): readonly (Buffer | null)[] {
  if (bytes.length < 12) throw new BadParameter('is not an array in binary', '22P03')
  const dimensions = bytes.readInt32BE(0)
  if (dimensions === 0) return []
  if (dimensions !== 1) throw new BadParameter('has more than one dimension', '2202E')
  if (typeNamed(bytes.readUInt32BE(8)) === undefined) throw new BadParameter('has elements of an unknown type', '42804')
  if (bytes.length < 20) throw new BadParameter('is not an array in binary', '22P03')
  const count = bytes.readInt32BE(12)
  const elements: (Buffer | null)[] = []
  let at = 20
  for (let index = 0; index < count; index++) {
    if (at + 4 > bytes.length) throw new BadParameter('is not an array in binary', '22P03')
    const length = bytes.readInt32BE(at)
    at += 4
    if (length < 0) elements.push(null)
    else {
      if (at + length > bytes.length) throw new BadParameter('is not an array in binary', '22P03')
      elements.push(bytes.subarray(at, at + length))
      at += length
    }
  }
  return elements
}

/** {1,NULL,"a \"quoted\" text"} */
function readText(text: string): readonly (Buffer | null)[] {
  const trimmed = text.trim()
  if (!trimmed.startsWith('{') || !trimmed.endsWith('}')) throw new BadParameter('is not an array such as {1,2}')
  const elements: (Buffer | null)[] = []
  const end = trimmed.length - 1
  let at = 1
  while (at < end) {
    ELEMENT.lastIndex = at
    const match = ELEMENT.exec(trimmed)
    if (match === null) throw new BadParameter('is not an array of one dimension such as {1,2}')
    const [whole, quoted, bare] = match
    if (quoted !== undefined) elements.push(Buffer.from(quoted.replace(/\\(.)/gs, '$1')))
    else {
      const word = (bare ?? '').trim()
      elements.push(word.toUpperCase() === 'NULL' ? null : Buffer.from(word.replace(/\\(.)/gs, '$1')))
    }
    at += whole.length
    if (at < end && trimmed[at] !== ',') throw new BadParameter('is not an array of one dimension such as {1,2}')
    at++
  }
  return elements
}

const ELEMENT = /\s*(?:"((?:[^"\\]|\\.)*)"\s*|((?:[^",{}\\]|\\.)+))/sy
