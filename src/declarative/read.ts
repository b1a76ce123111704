/** Reads a declarative file, JSON or YAML, into a checked Declaration. */
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { parseDocument } from 'yaml'
import { BadDeclaration, type Fault } from './bad-declaration.ts'
import { checkShape } from './check-shape.ts'
import { findSecret, type SecretPlaces } from './secrets.ts'
import type { Declaration } from './shape.ts'

export interface DeclarationFile {
  /** As its writer named it, for messages. */
  readonly source: string
  /** Relative paths in the file start here. */
  readonly folder: string
  readonly declaration: Declaration
}

export function readDeclaration(path: string): DeclarationFile {
  const value = parse(path, readText(path))
  const checked = checkShape(value)
  if ('faults' in checked) throw new BadDeclaration(path, checked.faults)
  return { source: path, folder: dirname(resolve(path)), declaration: checked.declaration }
}

/** The file's settings as the text that flags and environment would give. */
export function settingsOf(
  { source, folder, declaration }: DeclarationFile,
  environment: SecretPlaces['environment'],
): Record<string, string> {
  const settings: Record<string, string> = {}
  const faults: Fault[] = []
  for (const [name, value] of Object.entries(declaration.settings ?? {})) {
    if (name === 'config') faults.push({ path: 'settings.config', text: 'a file cannot name another file' })
    else if (typeof value !== 'object') settings[name] = String(value)
    else if (Array.isArray(value)) settings[name] = value.join(',')
    else {
      const found = findSecret(value, { environment, folder })
      if ('text' in found) settings[name] = found.text
      else faults.push({ path: `settings.${name}`, text: found.fault })
    }
  }
  if (faults.length > 0) throw new BadDeclaration(source, faults)
  return settings
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    throw new BadDeclaration(path, [
      { path: '', text: `the declarative file cannot be read (${reason}): mend GATEHOUSE_CONFIG` },
    ])
  }
}

/** JSON is YAML too, and this parser refuses a member that is written twice, which JSON.parse lets pass. */
function parse(path: string, text: string): unknown {
  const document = parseDocument(text, { uniqueKeys: true, prettyErrors: true, logLevel: 'error' })
  const faults = [...document.errors, ...document.warnings].map((error) => ({
    path: '',
    // The message's first line says what and where; the rest quotes the file, where a secret may stand.
    text: error.message.split('\n', 1)[0]?.replace(/:$/, '') ?? error.code,
  }))
  if (faults.length > 0) throw new BadDeclaration(path, faults)
  try {
    return document.toJS({ maxAliasCount: 100 })
  } catch (error) {
    throw new BadDeclaration(path, [{ path: '', text: error instanceof Error ? error.message : String(error) }])
  }
}
