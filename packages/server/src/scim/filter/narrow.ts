/**
 * What of a filter the database can decide: a condition that all matching users meet, found by an index where there is one. A condition
 * that is not exact leaves the rest to `matches`.
 */
import { compareText, type KeyOperator, type UserCondition } from '../../accounts/scim-reads.ts'
import type { AttributePath, Filter } from './ast.ts'

export interface Narrowed {
  readonly condition: UserCondition
  /** Exactly the users who meet the condition match the filter. */
  readonly isExact: boolean
  /** Only users who meet the condition are read. */
  readonly isIndexed: boolean
}

export const EVERYBODY: Narrowed = { condition: { kind: 'all' }, isExact: true, isIndexed: true }
const UNKNOWN: Narrowed = { condition: { kind: 'all' }, isExact: false, isIndexed: false }

export function narrow(filter: Filter, clientId: string, core: string): Narrowed {
  switch (filter.kind) {
    case 'and': {
      const parts = filter.parts.map((part) => narrow(part, clientId, core))
      return {
        condition: { kind: 'and', parts: parts.map(({ condition }) => condition) },
        isExact: parts.every(({ isExact }) => isExact),
        isIndexed: parts.some(({ isIndexed }) => isIndexed),
      }
    }
    case 'or': {
      const parts = filter.parts.map((part) => narrow(part, clientId, core))
      return {
        condition: { kind: 'or', parts: parts.map(({ condition }) => condition) },
        isExact: parts.every(({ isExact }) => isExact),
        isIndexed: parts.every(({ isIndexed }) => isIndexed),
      }
    }
    case 'not':
      return UNKNOWN
    case 'present':
      // emails[value eq "anna@example.com"]: the condition of the value is one of the user.
      return filter.path.filter === undefined ? UNKNOWN : narrowValues(filter.path, filter.path.filter, clientId, core)
    case 'compare': {
      if (filter.path.filter !== undefined && filter.path.sub !== 'value') return UNKNOWN
      if (filter.path.urn !== undefined && filter.path.urn !== core.toLowerCase()) return UNKNOWN
      const isChosen = filter.path.filter !== undefined
      const found = compared(filter, clientId)
      return isChosen ? { ...found, isExact: false } : found
    }
  }
}

function narrowValues({ name }: AttributePath, filter: Filter, clientId: string, core: string): Narrowed {
  const parts = filter.kind === 'and' ? filter.parts : [filter]
  const value = parts.find((part) => part.kind === 'compare' && part.path.name === 'value')
  if (value?.kind !== 'compare') return UNKNOWN
  const path = { urn: undefined, name, filter: undefined, sub: 'value' }
  return { ...narrow({ ...value, path }, clientId, core), isExact: false }
}

function compared({ path, op, value }: Extract<Filter, { kind: 'compare' }>, clientId: string): Narrowed {
  const name = path.sub === undefined ? path.name : `${path.name}.${path.sub}`
  if (name === 'active' && op === 'eq' && typeof value === 'boolean')
    return { condition: { kind: 'active', active: value }, isExact: true, isIndexed: false }
  if (typeof value !== 'string') return UNKNOWN
  if (op === 'eq') {
    if (name === 'id') return exactly({ kind: 'id', id: value })
    if (name === 'externalid') return exactly({ kind: 'external id', clientId, externalId: value })
    if (name === 'groups' || name === 'groups.value')
      return { ...exactly({ kind: 'group', id: value }), isExact: false }
  }
  if (op === 'ne' || op === 'co' || op === 'ew') return UNKNOWN
  if (name === 'username') return { ...byText('username', op, value), isExact: value === value.trim() && value !== '' }
  const key = KEYS.get(name)
  if (key === undefined || (op !== 'eq' && op !== 'sw')) return UNKNOWN
  return { ...byText(key, op, value), isExact: false }
}

/** The texts with an index that have at least the values of these attributes. */
const KEYS: ReadonlyMap<string, TextKey> = new Map([
  ['displayname', 'name'],
  ['name.familyname', 'family'],
  ['emails', 'email'],
  ['emails.value', 'email'],
])

type TextKey = Parameters<typeof compareText>[0]

function byText(key: TextKey, op: KeyOperator, value: string): Narrowed {
  const condition = compareText(key, op, value)
  return condition === undefined ? UNKNOWN : exactly(condition)
}

function exactly(condition: UserCondition): Narrowed {
  return { condition, isExact: true, isIndexed: true }
}
