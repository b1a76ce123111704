/** Bodies: JSON objects with their schema, and the operations of a PATCH (RFC 7644 §3.5.2). */
import { isDeeperThan } from '../lib/json-depth.ts'
import { isObject, type JsonObject } from './filter/match.ts'
import { badRequest } from './scim-error.ts'

export interface PatchOperation {
  readonly op: 'add' | 'replace' | 'remove'
  readonly path: string | undefined
  readonly value: unknown
}

const PATCH_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:PatchOp'
const MOST_DEPTH = 16
const MOST_OPERATIONS = 1000

/** The object, whose `schemas`, if it says so, include the expected one. */
export function readBody(body: Buffer, schema: string): JsonObject {
  const text = body.toString()
  if (isDeeperThan(text, MOST_DEPTH))
    throw badRequest('invalidSyntax', `The body nests more than ${MOST_DEPTH} levels deep`)
  const value = parse(text)
  if (!isObject(value)) throw badRequest('invalidSyntax', 'The body must be a JSON object')
  const { schemas } = value
  if (schemas === undefined || schemas === null) return value
  const isNamed = (name: unknown) => typeof name === 'string' && name.toLowerCase() === schema.toLowerCase()
  if (!Array.isArray(schemas) || !schemas.some(isNamed))
    throw badRequest('invalidSyntax', `schemas must include ${schema}`)
  return value
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw badRequest('invalidSyntax', 'The body is not JSON')
  }
}

export function readPatch(body: Buffer): PatchOperation[] {
  const members = new Map(
    Object.entries(readBody(body, PATCH_SCHEMA)).map(([name, value]) => [name.toLowerCase(), value]),
  )
  const operations = members.get('operations')
  if (!Array.isArray(operations) || operations.length === 0)
    throw badRequest('invalidSyntax', 'Operations must be a list with at least one operation')
  if (operations.length > MOST_OPERATIONS)
    throw badRequest('tooMany', `A PATCH has at most ${MOST_OPERATIONS} operations`)
  return operations.map(readOperation)
}

function readOperation(item: unknown): PatchOperation {
  if (!isObject(item)) throw badRequest('invalidSyntax', 'An operation must be an object')
  const op = OPERATIONS.find((known) => known === String(item.op).toLowerCase())
  if (op === undefined) throw badRequest('invalidSyntax', 'op must be add, replace or remove')
  const { path, value } = item
  if (path !== undefined && path !== null && typeof path !== 'string')
    throw badRequest('invalidPath', 'path must be a string')
  const named = typeof path === 'string' && path !== '' ? path : undefined
  if (op === 'remove' && named === undefined) throw badRequest('noTarget', 'remove needs a path')
  if (op !== 'remove' && value === undefined) throw badRequest('invalidValue', `${op} needs a value`)
  return { op, path: named, value }
}

const OPERATIONS = ['add', 'replace', 'remove'] as const
