/** Content negotiation: the format and the compression of a result (RFC 9110 §12.5). */
import { byQuality } from '../../http/request/accept.ts'
import type { QueryValues } from '../../http/request/request-head.ts'
import { refuse } from '../errors.ts'
import type { Encoding, Format } from '../results/encoding.ts'

export const MEDIA_TYPES: Readonly<Record<Format, string>> = {
  json: 'application/json; charset=utf-8',
  ndjson: 'application/x-ndjson; charset=utf-8',
  csv: 'text/csv; charset=utf-8; header=present',
  arrow: 'application/vnd.apache.arrow.stream',
}

const FORMATS: ReadonlyMap<string, Format> = new Map([
  ['application/json', 'json'],
  ['application/x-ndjson', 'ndjson'],
  ['application/ndjson', 'ndjson'],
  ['text/csv', 'csv'],
  ['application/vnd.apache.arrow.stream', 'arrow'],
  ['*/*', 'json'],
  ['application/*', 'json'],
  ['text/*', 'csv'],
])

export type Coding = 'identity' | 'gzip' | 'br' | 'zstd'
const CODINGS: readonly Coding[] = ['zstd', 'br', 'gzip']

export function negotiateEncoding(accept: string | undefined, query: QueryValues): Encoding {
  return {
    format: negotiateFormat(accept),
    ...valueEncoding(query),
    header: oneOf(query, 'header', ['none', 'columns']),
  }
}

/** How rows and integers are written, whatever the format. */
export function valueEncoding(query: QueryValues): Pick<Encoding, 'rows' | 'integers'> {
  return {
    rows: oneOf(query, 'rows', ['objects', 'arrays']),
    integers: oneOf(query, 'integers', ['numbers', 'strings']),
  }
}

/** Whether the statement may write; a caller who runs what others wrote, such as a shared board, refuses that. */
export function refusesWrites(query: QueryValues): boolean {
  return oneOf(query, 'writes', ['allowed', 'refused']) === 'refused'
}

function negotiateFormat(accept: string | undefined): Format {
  if (accept === undefined || accept.trim() === '' || accept === '*/*' || accept === 'application/json') return 'json'
  for (const { value } of byQuality(accept)) {
    const format = FORMATS.get(value)
    if (format !== undefined) return format
  }
  const offered = Object.values(MEDIA_TYPES).map((type) => type.split(';', 1)[0])
  throw refuse('Request.NotAcceptable', `No result format matches ${accept}`, { members: { Expected: offered } })
}

export const EVENT_STREAM = 'text/event-stream'

/** Whether the caller prefers the statement as live events to every format of a result. */
export function prefersEvents(accept: string | undefined): boolean {
  if (accept === undefined || !accept.toLowerCase().includes(EVENT_STREAM)) return false
  return byQuality(accept).find(({ value }) => value === EVENT_STREAM || FORMATS.has(value))?.value === EVENT_STREAM
}

export function negotiateCoding(accepted: string | undefined): Coding {
  if (accepted === undefined) return 'identity'
  const wanted = byQuality(accepted)
  const best = wanted[0]?.quality ?? 0
  const candidates = wanted.filter(({ quality }) => quality === best).map(({ value }) => value)
  return CODINGS.find((coding) => candidates.includes(coding)) ?? 'identity'
}

function oneOf<Word extends string>(query: QueryValues, name: string, words: readonly [Word, Word]): Word {
  const given = query.get(name)
  if (given === undefined) return words[0]
  const found = words.find((word) => word === given)
  if (found !== undefined) return found
  throw refuse('Request.BadParameter', `The query parameter ${name} must be ${words.join(' or ')}`, {
    members: { Expected: words },
  })
}
