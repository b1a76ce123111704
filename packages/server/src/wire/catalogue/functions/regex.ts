/** Regular expressions of PostgreSQL, as far as those of JavaScript are the same or can be written so. */
import { LruMap } from '../../../lib/lru-map.ts'
import { CatalogueError } from '../catalogue-error.ts'

const compiled = new LruMap<RegExp>(200)

export function compileRegex(pattern: string, flags: string): RegExp {
  const key = `${flags} ${pattern}`
  const known = compiled.get(key)
  if (known !== undefined) {
    known.lastIndex = 0
    return known
  }
  const expression = compile(pattern, flags)
  compiled.set(key, expression)
  return expression
}

function compile(pattern: string, flags: string): RegExp {
  // Options at the start: (?i)
  const [, options = '', rest = pattern] = /^\(\?([a-z]+)\)([\s\S]*)$/.exec(pattern) ?? []
  const insensitive = flags.includes('i') || options.includes('i')
  const all = flags.includes('g')
  try {
    return new RegExp(
      translateEscapes(rest),
      `${insensitive ? 'i' : ''}${all ? 'g' : ''}${flags.includes('n') ? 'm' : 's'}`,
    )
  } catch {
    throw new CatalogueError('badValue', `invalid regular expression: ${pattern}`)
  }
}

const CLASSES: ReadonlyMap<string, string> = new Map([
  ['alpha', 'a-zA-Z'],
  ['digit', '0-9'],
  ['alnum', 'a-zA-Z0-9'],
  ['space', '\\s'],
  ['upper', 'A-Z'],
  ['lower', 'a-z'],
  ['punct', '!-\\/:-@\\[-`{-~'],
  ['xdigit', '0-9a-fA-F'],
])

function translateEscapes(pattern: string): string {
  return pattern
    .replaceAll(/\[:(\w+):\]/g, (whole, name: string) => CLASSES.get(name) ?? whole)
    .replaceAll(/\\([myMY])/g, (_whole, letter: string) => (letter === 'Y' ? '\\B' : '\\b'))
}
