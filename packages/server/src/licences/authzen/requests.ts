/** Requests of the AuthZEN Authorization API 1.0: subject, action and resource (§5), batches (§7), searches (§8). Unknown members are ignored. */
import { Refusal } from 'gatehouse-protocol'
import type { Context } from '../../http/context.ts'
import { isDeeperThan } from '../../lib/json-depth.ts'

export type Properties = ReadonlyMap<string, unknown>

export interface Entity {
  readonly type: string
  readonly id: string
  readonly properties: Properties
}

/** A search names the type of what it looks for; an id is ignored (§8.4.1). */
export type EntityType = Omit<Entity, 'id'>

export interface Action {
  readonly name: string
  readonly properties: Properties
}

export interface Evaluation {
  readonly subject: Entity
  readonly action: Action
  readonly resource: Entity
}

export type Semantic = 'execute_all' | 'deny_on_first_deny' | 'permit_on_first_permit'

export interface Batch {
  /** Each is an evaluation, or says what is wrong with it. */
  readonly evaluations: readonly (Evaluation | Refusal)[]
  readonly semantic: Semantic
}

export interface PageRequest {
  readonly token: string | undefined
  readonly limit: number
}

export const MOST_EVALUATIONS = 1_000
export const MOST_RESULTS = 200
const LONGEST_NAME = 1_024
const MOST_DEPTH = 32
const SEMANTICS = ['execute_all', 'deny_on_first_deny', 'permit_on_first_permit'] as const

type Members = ReadonlyMap<string, unknown>

export function readBody({ headers, body }: Pick<Context, 'headers' | 'body'>): Members {
  const [type = ''] = headers['content-type']?.split(';') ?? []
  if (type.trim().toLowerCase() !== 'application/json') throw malformed('Content-Type must be application/json')
  const text = String(body)
  if (isDeeperThan(text, MOST_DEPTH)) throw malformed('The body is nested too deeply')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw malformed('The body must be JSON')
  }
  return readMembers(value, 'The body')
}

export function readEvaluation(members: Members): Evaluation {
  return {
    subject: readEntity(members, 'subject'),
    action: readAction(members),
    resource: readEntity(members, 'resource'),
  }
}

/** Undefined where the request has no evaluations: it is a single one (§7.1). */
export function readBatch(members: Members): Batch | undefined {
  const list = members.get('evaluations')
  if (list === undefined || (Array.isArray(list) && list.length === 0)) return undefined
  if (!Array.isArray(list)) throw malformed('evaluations must be a list')
  if (list.length > MOST_EVALUATIONS) throw malformed(`evaluations must be at most ${MOST_EVALUATIONS}`)
  const defaults = [...members].filter(([name]) => name !== 'evaluations' && name !== 'options')
  const evaluations = list.map((each: unknown) => {
    try {
      return readEvaluation(new Map([...defaults, ...readMembers(each, 'An evaluation')]))
    } catch (error) {
      if (error instanceof Refusal) return error
      throw error
    }
  })
  return { evaluations, semantic: readSemantic(members.get('options')) }
}

function readSemantic(options: unknown): Semantic {
  const given = options === undefined ? undefined : readMembers(options, 'options').get('evaluations_semantic')
  if (given === undefined) return 'execute_all'
  const semantic = SEMANTICS.find((each) => each === given)
  if (semantic === undefined) throw malformed(`evaluations_semantic must be one of ${SEMANTICS.join(', ')}`)
  return semantic
}

export function readEntity(members: Members, name: 'subject' | 'resource'): Entity {
  const given = readMembers(members.get(name), name)
  return { ...readType(given, name), id: readText(given.get('id'), `${name}.id`) }
}

export function readEntityType(members: Members, name: 'subject' | 'resource'): EntityType {
  return readType(readMembers(members.get(name), name), name)
}

function readType(given: Members, name: string): EntityType {
  return { type: readText(given.get('type'), `${name}.type`), properties: readProperties(given, name) }
}

export function readAction(members: Members): Action {
  const given = readMembers(members.get('action'), 'action')
  return { name: readText(given.get('name'), 'action.name'), properties: readProperties(given, 'action') }
}

export function readPage(members: Members): PageRequest {
  const page = members.get('page')
  if (page === undefined) return { token: undefined, limit: MOST_RESULTS }
  const given = readMembers(page, 'page')
  const [token, limit = MOST_RESULTS] = [given.get('token'), given.get('limit')]
  if (token !== undefined && typeof token !== 'string') throw malformed('page.token must be a text')
  if (typeof limit !== 'number' || !Number.isSafeInteger(limit) || limit < 1)
    throw malformed('page.limit must be a whole number from 1')
  return { token: token === '' ? undefined : token, limit: Math.min(limit, MOST_RESULTS) }
}

function readProperties(given: Members, name: string): Properties {
  const properties = given.get('properties')
  return properties === undefined ? new Map() : readMembers(properties, `${name}.properties`)
}

function readText(value: unknown, path: string): string {
  if (typeof value !== 'string' || value === '' || value.length > LONGEST_NAME)
    throw malformed(`${path} must be a text of 1 to ${LONGEST_NAME} characters`)
  return value
}

function readMembers(value: unknown, what: string): Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw malformed(`${what} must be an object`)
  return new Map(Object.entries(value))
}

export function malformed(text: string): Refusal {
  return new Refusal('decision.bad_request', 400, text)
}
