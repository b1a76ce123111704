/** Reads the `Data` of a subscription to a live statement. */

import type { Json } from '../lib/exact-json.ts'
import {
  DEFAULT_RATE,
  isList,
  isObject,
  type LiveRequest,
  MAX_RATE,
  MIN_RATE,
  parameterInput,
  readJson,
} from '../query/index.ts'
import { asJson } from '../streaming/streaming.ts'
import { type Call, members, refuse, textMember } from '../streaming/topics/controller.ts'

export type LiveData = Pick<LiveRequest, 'statement' | 'parameters' | 'maxRate' | 'resume'>

export function readLiveData(call: Call): LiveData {
  const fields = members(call.data)
  return {
    statement: textMember(fields, 'Statement'),
    parameters: readParameters(rawParameters(call, fields)),
    maxRate: readMaxRate(readMember(fields, 'MaxRate')),
    resume: readResume(fields),
  }
}

type Fields = Readonly<Record<string, unknown>>

function readMember(fields: Fields, name: string): unknown {
  return Object.hasOwn(fields, name) ? fields[name] : undefined
}

/** The parsed message has doubles for its numbers, but its text has all their digits. MessagePack loses none. */
function rawParameters({ source }: Call, fields: Fields): Json {
  const parameters = readMember(fields, 'Parameters')
  if (parameters === undefined) return null
  return source === undefined ? asJson(parameters, 'Parameters') : rereadParameters(source)
}

function rereadParameters(source: string): Json {
  const message = parse(source)
  const data = isObject(message) ? message.Data : undefined
  return (data !== undefined && isObject(data) ? data.Parameters : undefined) ?? null
}

/** The same size limit as for a request to the query service. */
function parse(source: string): Json {
  try {
    return readJson(source)
  } catch (error) {
    throw refuse('Data', 'Parameters', error)
  }
}

/** An object, or an array for $1, $2, … */
function readParameters(parameters: Json): LiveData['parameters'] {
  if (parameters === null) return new Map()
  if (isList(parameters)) return new Map(parameters.map((value, index) => [String(index + 1), parameterInput(value)]))
  if (!isObject(parameters)) throw refuse('Data.Deserialise', 'Parameters')
  return new Map(Object.entries(parameters).map(([name, value]) => [name, parameterInput(value)]))
}

function readMaxRate(given: unknown): number {
  if (given === undefined) return DEFAULT_RATE
  if (typeof given !== 'number') throw refuse('Data.Deserialise', 'MaxRate')
  if (!Number.isInteger(given) || given < MIN_RATE || given > MAX_RATE) throw refuse('Data', 'MaxRate')
  return given
}

const POSITION = /^[\x21-\x7e]{1,512}$/

function readResume(fields: Fields): string | undefined {
  if (readMember(fields, 'Resume') === undefined) return undefined
  const position = textMember(fields, 'Resume')
  if (!POSITION.test(position)) throw refuse('Data', 'Resume')
  return position
}
