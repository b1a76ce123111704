/** The scopes of an API, as the options of `gatehouse api` give them. */
import type { Arguments } from '../args.ts'
import { UsageError } from '../errors.ts'
import type { JsonObject } from '../output/json.ts'

/** A name of a scope may contain a colon or the sign =, a tag of a language cannot. */
const SCOPE_TEXT = /^(?<name>.+):(?<language>[A-Za-z-]+)=(?<text>.+)$/

/** The member `scopes`; undefined where no scope is given. */
export function readApiScopes(args: Arguments): readonly JsonObject[] | undefined {
  const scopes = new Map<string, Map<string, string>>()
  for (const given of args.values('--scope')) {
    const at = given.indexOf('=')
    scopes.set(at < 0 ? given : given.slice(0, at), new Map(at < 0 ? [] : [['en', given.slice(at + 1)]]))
  }
  for (const given of args.values('--text')) {
    const { name = '', language = '', text = '' } = SCOPE_TEXT.exec(given)?.groups ?? {}
    const texts = scopes.get(name)
    if (texts === undefined)
      throw new UsageError(`--text ${given}: write NAME:LANGUAGE=TEXT, with the NAME of a --scope of this command`)
    texts.set(language, text)
  }
  if (scopes.size === 0) return undefined
  return [...scopes].map(([name, texts]) => ({ name, ...(texts.size > 0 && { text: Object.fromEntries(texts) }) }))
}
