/** What most administration commands do: list, show, create, change or delete one kind of resource. */
import type { Arguments, OptionName } from '../args.ts'
import { asObject, type JsonObject } from '../output/json.ts'
import { type AdminCommand, type AdminCommandCall, pagePath, segment } from './admin-command.ts'

type Run = AdminCommand['run']
type RequestPath = (args: Arguments) => string

/** The path of the resource that the first argument names, or of something that belongs to it. */
export function named(collection: string, ...parts: readonly string[]): RequestPath {
  return ({ positionals: [name] }) => [collection, segment(name), ...parts].join('/')
}

/** A table of everything at a path. */
export function list(path: string | RequestPath, columns: readonly string[]): Run {
  return async ({ args, request }) => {
    const { body } = await request('GET', typeof path === 'string' ? path : path(args))
    return { kind: 'table', columns, body }
  }
}

/** A table of one page, with the parameters of `filter` that have a value. */
export function listPage(path: string, columns: readonly string[], filter?: (args: Arguments) => JsonObject): Run {
  return list((args) => pagePath(path, args, filter?.(args)), columns)
}

/** The path of the item that the first argument names. */
function itemPath(path: string | RequestPath, args: Arguments): string {
  return (typeof path === 'string' ? named(path) : path)(args)
}

export function show(path: string | RequestPath): Run {
  return async ({ args, request }) => ({ kind: 'object', body: (await request('GET', itemPath(path, args))).body })
}

type BuildBody = (call: AdminCommandCall) => JsonObject | Promise<JsonObject>

/** Shows what it has created, or says it in a text. */
export function create(
  path: string | RequestPath,
  buildBody: BuildBody,
  text?: (made: JsonObject, args: Arguments) => string,
): Run {
  return async (call) => {
    const { args, request } = call
    const given = await buildBody(call)
    const { body } = await request('POST', typeof path === 'string' ? path : path(args), { body: given })
    return text === undefined ? { kind: 'object', body } : { kind: 'text', text: text(asObject(body), args), body }
  }
}

/** Creates a resource or replaces it as a whole. */
export function replace(path: string | RequestPath, buildBody: BuildBody): Run {
  return async (call) => {
    const given = await buildBody(call)
    return { kind: 'object', body: (await call.request('PUT', itemPath(path, call.args), { body: given })).body }
  }
}

/** Changes a resource. A given list replaces the previous one; the removed entries are printed. */
export function change(path: string | RequestPath, buildBody: BuildBody): Run {
  return async (call) => {
    const body = await buildBody(call)
    const before = new Map(Object.entries(asObject((await call.request('GET', itemPath(path, call.args))).body)))
    const changed = await patch(call, path, body)
    const after = new Map(Object.entries(asObject(changed)))
    const removed = Object.keys(body).flatMap((name) => {
      const kept = listedWords(name, after.get(name))
      const gone = listedWords(name, before.get(name)).filter((word) => !kept.includes(word))
      return gone.length === 0 ? [] : [`${name}: ${gone.join(' ')}`]
    })
    return { kind: 'object', body: changed, removed }
  }
}

/** The words of a list, or of the scopes of a client, which are one text. */
function listedWords(name: string, value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.map(String)
  return name === 'scope' && typeof value === 'string' ? value.split(' ') : []
}

export function setDisabled(path: string | RequestPath, noun: string, disabled: boolean): Run {
  return async (call) => {
    const body = await patch(call, path, { disabled })
    const text = `The ${noun} ${call.args.positionals[0]} is ${disabled ? 'disabled' : 'enabled'}.`
    return { kind: 'text', text, body }
  }
}

export function remove(path: string | RequestPath, text: (name: string) => string): Run {
  return async ({ args, request }) => {
    await request('DELETE', itemPath(path, args))
    return { kind: 'text', text: text(args.positionals[0] ?? '') }
  }
}

/** Deletes the item of a list that `option` names. Without that option, does `otherwise`. */
export function removeOr(
  option: OptionName,
  listPath: string | RequestPath,
  text: (id: string, args: Arguments) => string,
  otherwise: Run,
): Run {
  return async (call) => {
    const { args, request } = call
    const id = args.value(option)
    if (id === undefined) return otherwise(call)
    await request('DELETE', `${typeof listPath === 'string' ? listPath : listPath(args)}/${segment(id)}`)
    return { kind: 'text', text: text(id, args) }
  }
}

async function patch(
  { args, request }: AdminCommandCall,
  path: string | RequestPath,
  body: JsonObject,
): Promise<unknown> {
  return (await request('PATCH', itemPath(path, args), { body, ifMatch: '*' })).body
}
