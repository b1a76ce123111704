/** The option of users and clients that gives values of attributes. */
import { ATTRIBUTES } from '../../resources/attributes.ts'
import type { Arguments } from '../args.ts'
import { UsageError } from '../errors.ts'
import { asObject, type JsonObject } from '../output/json.ts'
import type { AdminRequest } from './admin-command.ts'

/** The member `attributes` of a user or client; nothing where no value is given. */
export async function readValues(args: Arguments, request: AdminRequest): Promise<JsonObject> {
  const given = args.values('--attribute').map(readValue)
  if (given.length === 0) return {}
  const { items } = asObject((await request('GET', `/admin/${ATTRIBUTES.section}`)).body)
  const types = new Map((Array.isArray(items) ? items.map(asObject) : []).map(({ name, type }) => [name, type]))
  const values = Map.groupBy(given, ({ name }) => name)
  const attributes = Array.from(values, ([name, all]) => {
    const texts = all.flatMap(({ text }) => (text === '' ? [] : [text]))
    return [name, texts.length === 0 ? null : texts.map((text) => ofType(types.get(name), text))]
  })
  return { attributes: Object.fromEntries(attributes) }
}

function readValue(given: string): { readonly name: string; readonly text: string } {
  const at = given.indexOf('=')
  if (at <= 0) throw new UsageError(`--attribute ${given}: write NAME=VALUE, such as desk=FX`)
  return { name: given.slice(0, at), text: given.slice(at + 1) }
}

/** What is no value of the type stays a text, which the server refuses. */
function ofType(type: unknown, text: string): unknown {
  if (type === 'Integer' && /^-?\d+$/.test(text)) return Number(text)
  if (type === 'Boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}
