/** Errors in the rows of a bulk insert: each says where in the body it is. */
import { type IqlType, typeName } from 'gatehouse-iql'
import { Refusal } from 'gatehouse-protocol'
import { refuse } from '../errors.ts'

/** Where in the body: a line of a text, or a row of a binary format, counted from 1. */
export type Place = { readonly line: number } | { readonly row: number }

export interface NamedColumn {
  readonly name: string
  readonly type: IqlType
}

const MAX_SHOWN = 100

export function badValue(
  place: Place,
  { name, type }: NamedColumn,
  text: string,
  problem: string,
  code: 'Data.BadValue' | 'Data.BadBinary' = 'Data.BadValue',
): Refusal {
  const shown = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text
  return refuse(
    code,
    `${placeText(place)}: The value ${JSON.stringify(shown)} of the column ${name} (${typeName(type)}) ${problem}`,
    { members: { ...placeMembers(place), Column: name, Value: shown } },
  )
}

export function badBody(detail: string, place?: Place): Refusal {
  if (place === undefined) return refuse('Request.BadBody', detail)
  return refuse('Request.BadBody', `${placeText(place)}: ${detail}`, { members: placeMembers(place) })
}

/** The refusal with the place of its row. */
export function atPlace({ code, status, message, details }: Refusal, place: Place): Refusal {
  return new Refusal(code, status, `${placeText(place)}: ${message}`, {
    ...details,
    members: { ...details.members, ...placeMembers(place) },
  })
}

function placeText(place: Place): string {
  return 'line' in place ? `Line ${place.line}` : `Row ${place.row}`
}

function placeMembers(place: Place): Readonly<Record<string, number>> {
  return 'line' in place ? { Line: place.line } : { Row: place.row }
}
