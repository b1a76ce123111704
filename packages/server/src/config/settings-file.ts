/** The settings file: environment variables in the syntax of systemd's EnvironmentFile (systemd.exec(5)), read without a shell. */
import { readFileSync, statSync } from 'node:fs'
import { BadSetting } from './parsers.ts'

export interface SettingsFile {
  readonly path: string
  readonly variables: ReadonlyMap<string, string>
}

export function readSettingsFile(path: string): SettingsFile {
  let text: string
  try {
    // Opening a pipe would block until another process writes to it.
    if (!statSync(path).isFile()) throw new Error('it is not a file')
    text = readFileSync(path, 'utf8')
  } catch (error) {
    const reason = error instanceof Error ? ('code' in error ? error.code : error.message) : error
    throw new BadSetting(
      `The settings file ${path} cannot be read (${reason}): check GATEHOUSE_SETTINGS_FILE, or run this as the user of the server`,
    )
  }
  return { path, variables: parseSettingsFile(text, path) }
}

const SPACE = /\s*/y
const COMMENT = /[#;][^\r\n]*/y
const NAME = /([A-Za-z_]\w*)[ \t]*=[ \t]*/y
const SINGLE_QUOTED = /'([^']*)'[ \t]*/y
const DOUBLE_QUOTED = /"((?:\\.|[^"\\])*)"[ \t]*/sy
const UNQUOTED = /(?:\\(?:\r\n|.)|[^\\\r\n])*/sy

/**
 * systemd ignores lines that it does not understand. Here they are refused, because a missing setting may mean another database. A
 * message never quotes the file, which contains secrets.
 */
export function parseSettingsFile(text: string, path: string): ReadonlyMap<string, string> {
  const variables = new Map<string, string>()
  let at = 0
  const read = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at
    const found = pattern.exec(text) ?? undefined
    at += found?.[0].length ?? 0
    return found
  }
  for (read(SPACE); at < text.length; read(SPACE)) {
    if (read(COMMENT) !== undefined) continue
    const line = text.slice(0, at).split('\n').length
    const name = read(NAME)?.[1]
    if (name === undefined) throw new BadSetting(`Line ${line} of ${path} is not written as NAME=VALUE`)
    variables.set(name, readValue() ?? refuseQuote(line, path))
  }
  return variables

  /** Quoted parts, then the rest of the line; undefined if a quote is not closed. */
  function readValue(): string | undefined {
    let value = ''
    for (;;) {
      const single = read(SINGLE_QUOTED)?.[1]
      const double = single === undefined ? read(DOUBLE_QUOTED)?.[1] : undefined
      if (single === undefined && double === undefined) break
      value += single ?? double?.replace(/\\(\n|["\\`$])/g, (_escape, after) => (after === '\n' ? '' : after))
    }
    if (/['"]/.test(text.charAt(at))) return undefined
    const rest = read(UNQUOTED)?.[0] ?? ''
    return value + unescapeLine(rest)
  }
}

/** Spaces at the end do not belong to the value, unless they are escaped. */
function unescapeLine(written: string): string {
  const trimmed = /^(?:\\.|[^\\])*?(?=[ \t]*$)/s.exec(written)?.[0] ?? ''
  return trimmed.replace(/\\(\r\n|.|$)/gs, (_escape, after) => (/[\r\n]/.test(after) ? '' : after))
}

function refuseQuote(line: number, path: string): never {
  throw new BadSetting(`The quote on line ${line} of ${path} is not closed`)
}
