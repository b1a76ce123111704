/** The schema of saved documents: their types, their validation, OpenAPI and docs/console-documents.md are derived from it. */
import type { XStatic } from 'typebox/schema'
import { isRawNumber, type Json } from '../../lib/exact-json.ts'
import { closed, either, flag, list, number, oneOf, text } from '../../schema/builders.ts'
import { type Fault, findFaults } from '../../schema/check-schema.ts'
import { isList, isObject } from '../json.ts'

export const KINDS = ['query', 'board'] as const
export type Kind = (typeof KINDS)[number]

/** Columns of the grid on which the tiles of a board lie. */
export const BOARD_COLUMNS = 12
export const MAX_TILES = 50
export const MAX_ROLES = 20
/** The limit for the JSON text of a body. */
export const MAX_BODY_BYTES = 64 * 1024

const NAME = /^[^\s\p{C}](?:[^\p{C}]*[^\s\p{C}])?$/u.source
const PATTERNS: ReadonlyMap<string, string> = new Map([
  [NAME, 'must not contain control characters, or begin or end with a space'],
])

const name = (description: string, maxLength: number) => text({ pattern: NAME, maxLength, description })
const column = (description: string) => text({ minLength: 1, maxLength: 128, description })

const PARAMETERS = {
  type: 'object',
  additionalProperties: either(text({ maxLength: 4096 }), number('number'), flag(), { type: 'null' } as const),
  maxProperties: 100,
  description: 'Values of the parameters by name without the colon; `$1` has the name 1.',
} as const

/** What is run, and how its result is shown. */
const SHOWN = {
  statement: text({
    minLength: 1,
    maxLength: 32_768,
    description: 'One IQL statement. It is not checked when it is saved.',
  }),
  parameters: PARAMETERS,
  view: oneOf(['table', 'line', 'bar', 'scatter', 'candles'], 'How the result is shown. Default: table.'),
  x: column('Charts: the column of the x axis; a Timestamp or Date makes it a time axis.'),
  y: {
    ...list(column('A column of the result.')),
    minItems: 1,
    maxItems: 20,
    description:
      'Charts: the columns drawn, one line or set of bars each. Candles: open, high, low, close, in this order, and the volume if there is one.',
  },
  series: column('Charts: the column whose values split the rows into one line or set of bars each.'),
  scale: oneOf(['linear', 'log'], 'Charts: the scale of the values. Default: linear.'),
  averages: {
    ...list(number('integer', { minimum: 2, maximum: 1000, description: 'Points.' })),
    minItems: 1,
    maxItems: 4,
    description: 'Candles and single lines over a time: the lengths of moving averages.',
  },
  live: flag('Whether the result keeps itself up to date. Default: false.'),
} as const

export const QUERY_BODY = closed(['statement'], {
  description: text({ maxLength: 2000, description: 'What the query is for.' }),
  ...SHOWN,
})

export const TILE = closed(['title', 'statement', 'view', 'position'], {
  title: name('The heading of the tile.', 120),
  ...SHOWN,
  position: closed(['x', 'y', 'w', 'h'], {
    x: number('integer', { minimum: 0, maximum: BOARD_COLUMNS - 1, description: 'The first column, from 0.' }),
    y: number('integer', { minimum: 0, maximum: 999, description: 'The first row, from 0.' }),
    w: number('integer', { minimum: 1, maximum: BOARD_COLUMNS, description: 'Columns.' }),
    h: number('integer', { minimum: 1, maximum: 50, description: 'Rows.' }),
  }),
})

export const BOARD_BODY = closed(['tiles'], {
  description: text({ maxLength: 2000, description: 'What the board is for.' }),
  tiles: { ...list(TILE), maxItems: MAX_TILES, description: 'The charts and tables, in reading order.' },
})

export const SHARED = {
  ...either({ type: 'string', ...oneOf(['private', 'everyone']) } as const, {
    ...list(name('A role.', 128)),
    minItems: 1,
    maxItems: MAX_ROLES,
  }),
  description:
    'Who may read the document besides its owner: no one, everyone who may query, or the holders of the roles.',
} as const

const DOCUMENT_NAME = name('Shown in lists; need not be unique.', 120)

/** What a caller sends to create a document. */
export const NEW_DOCUMENT = {
  query: closed(['kind', 'name', 'body'], {
    kind: oneOf(['query']),
    name: DOCUMENT_NAME,
    shared: SHARED,
    body: QUERY_BODY,
  }),
  board: closed(['kind', 'name', 'body'], {
    kind: oneOf(['board']),
    name: DOCUMENT_NAME,
    shared: SHARED,
    body: BOARD_BODY,
  }),
} as const

const OWNER = text({
  minLength: 1,
  maxLength: 256,
  description: 'The id of a user or client; with Platform/Admin only.',
})

/** What a caller sends to change one: each member replaces the previous value completely. */
export const DOCUMENT_CHANGE = {
  query: closed([], { name: DOCUMENT_NAME, shared: SHARED, body: QUERY_BODY, owner: OWNER }),
  board: closed([], { name: DOCUMENT_NAME, shared: SHARED, body: BOARD_BODY, owner: OWNER }),
} as const

type Deep<Value> = Value extends object ? { readonly [Member in keyof Value]: Deep<Value[Member]> } : Value
export type QueryBody = Deep<XStatic<typeof QUERY_BODY>>
export type BoardBody = Deep<XStatic<typeof BOARD_BODY>>
export type Shared = 'private' | 'everyone' | readonly string[]

export interface NewDocument {
  readonly kind: Kind
  readonly name: string
  readonly shared?: Shared
  readonly body: QueryBody | BoardBody
}

export interface DocumentChange {
  readonly name?: string
  readonly shared?: Shared
  readonly body?: QueryBody | BoardBody
  readonly owner?: string
}

/** The faults of a value that was sent to create a document; none mean that it is a NewDocument. */
export function faultsOfNew(value: Json): readonly Fault[] {
  const kind = isObject(value) && Object.hasOwn(value, 'kind') ? KINDS.find((known) => known === value.kind) : undefined
  return checkDocument(value, NEW_DOCUMENT[kind ?? 'query'])
}

/** The faults of a value that was sent to change a document of this kind; none mean that it is a DocumentChange. */
export function faultsOfChange(value: Json, kind: Kind): readonly Fault[] {
  return checkDocument(value, DOCUMENT_CHANGE[kind])
}

function checkDocument(value: Json, schema: object): readonly Fault[] {
  const numbers = longNumbers(value, '')
  if (numbers.length > 0) return numbers
  const faults = findFaults(value, { schema, patterns: PATTERNS })
  return faults.length > 0 ? faults : wideTiles(value as DocumentChange)
}

/** A document is JSON for JavaScript: digits that a number there would lose must be sent as text. */
function longNumbers(value: Json, path: string): Fault[] {
  if (isRawNumber(value)) return [{ path, text: 'is a number that would lose digits: write it as text' }]
  if (isList(value)) return value.flatMap((item, index) => longNumbers(item, `${path}[${index}]`))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([member, inner]) =>
    longNumbers(inner, path === '' ? member : `${path}.${member}`),
  )
}

function wideTiles({ body }: DocumentChange): Fault[] {
  if (body === undefined || !('tiles' in body)) return []
  return body.tiles.flatMap(({ position: { x, w } }, index) =>
    x + w > BOARD_COLUMNS
      ? [{ path: `body.tiles[${index}].position.w`, text: `reaches beyond the ${BOARD_COLUMNS} columns of the board` }]
      : [],
  )
}
