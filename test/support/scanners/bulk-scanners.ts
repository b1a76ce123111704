/** Scanners of rows that are inserted in bulk, and of patterns. */
import type { IqlType } from 'gatehouse-iql'
import { openCopyBinary } from '../../../packages/server/src/query/bulk/copy-binary.ts'
import { openCopyCsv, openCopyText } from '../../../packages/server/src/query/bulk/copy-text.ts'
import { CSV, openCsv } from '../../../packages/server/src/query/bulk/csv.ts'
import { openNdjson } from '../../../packages/server/src/query/bulk/ndjson.ts'
import type { BulkReader, ByteSource } from '../../../packages/server/src/query/bulk/reader.ts'
import { likePattern } from '../../../packages/server/src/query/engines/sqlite/functions/like-pattern.ts'
import type { Scanner } from '../linear-time.ts'
import { BODY, CHARACTERS, each, JSON_TOKENS } from './attack-tokens.ts'

const TYPES: readonly IqlType[] = [
  { kind: 'Text' },
  { kind: 'Json' },
  { kind: 'Decimal', precision: 38, scale: 6 },
  { kind: 'Binary' },
]
const COLUMNS = TYPES.map((type, index) => ({ name: 'abcd'[index] ?? '', type }))
/** The bytes of a packet: a row arrives in many. */
const PACKET_BYTES = 1024

async function* splitPackets(bytes: Buffer): ByteSource {
  for (let start = 0; start < bytes.length; start += PACKET_BYTES) yield bytes.subarray(start, start + PACKET_BYTES)
}

/** Reads all rows, as columns of several types and as one. */
async function readAll(bytes: Buffer, open: (source: ByteSource) => Promise<BulkReader>): Promise<void> {
  for (const columns of [COLUMNS, COLUMNS.slice(0, 1)])
    try {
      const reader = await open(splitPackets(bytes))
      for await (const _ of reader.read(columns));
    } catch {
      // Refused.
    }
}

const COPY = { delimiter: '\t', null: '\\N', hasHeader: false }

export const BULK_SCANNERS: readonly Scanner[] = [
  {
    name: 'rows of CSV',
    scan: (text) => readAll(Buffer.from(text), (source) => openCsv(source, CSV)),
    tokens: [...CHARACTERS, ',', '""', '"a",', 'a,', 'a\r\n', '"\n', '\r'],
    around: [
      ['a\n', ''],
      ['a,b,c,d\n', ''],
      ['a\n"', '"\n'],
    ],
    most: BODY,
  },
  {
    name: 'rows of NDJSON',
    scan: (text) => readAll(Buffer.from(text), (source) => openNdjson(source, undefined)),
    tokens: [...JSON_TOKENS, '{"a":"1"}\n', '\n', '{"a":'],
    around: [
      ['', ''],
      ['{"a":"x"}\n{"b":[', '0]}\n'],
      ['{"c":', '}\n'],
    ],
    most: BODY,
  },
  {
    name: 'rows of COPY in text',
    scan: (text) => readAll(Buffer.from(text), (source) => openCopyText(source, COPY)),
    tokens: [...CHARACTERS, '\\N\t', '\\x41', '\\101', '\\', 'a\n', '\\.\n', '\r\n'],
    around: [
      ['', ''],
      ['a\t', '\n'],
    ],
    most: BODY,
  },
  {
    name: 'rows of COPY in CSV',
    scan: (text) => readAll(Buffer.from(text), (source) => openCopyCsv(source, { ...CSV, escape: '\\' })),
    tokens: [...CHARACTERS, '""', '\\"', 'a,', 'a\n', '\\.\n'],
    around: [
      ['', ''],
      ['"', '"\n'],
    ],
    most: BODY,
  },
  {
    name: 'rows of COPY in binary',
    scan: (text) =>
      readAll(Buffer.from(`PGCOPY\n\xff\r\n\0${'\0'.repeat(8)}${text}`, 'latin1'), (source) => openCopyBinary(source)),
    tokens: ['\0', '\0\x01\0\0\0\0', '\0\x01\0\0\0\x01a', '\0\x01\xff\xff\xff\xff', '\xff', 'a'],
    around: [
      ['', ''],
      ['\0\x01\0\0\x40\0', ''],
    ],
    most: BODY,
  },
  {
    // Of one of them alone: both together are bounded by the product of their lengths (Limit.Value).
    name: 'patterns of LIKE, and texts',
    scan: each(
      (text) => likePattern(text, '!').matches('ab'.repeat(50)),
      ...['%a%b%c', '%_b%_c%', '%a_a_b%', '_%_%_c', '%ab%ab%abc'].map(
        (pattern) => (text: string) => likePattern(pattern, '!').matches(text),
      ),
    ),
    tokens: ['a', 'b', 'ab', '%', '_', '%_', '%a', '_a%', '!', '!%', '😀'],
    most: BODY,
  },
]
