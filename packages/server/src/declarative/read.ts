/** Reads a declarative file, JSON or YAML, into a checked Declaration. */
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { type Document, isCollection, parseDocument, visit } from 'yaml'
import type { Fault } from '../schema/check-schema.ts'
import { BadDeclaration } from './bad-declaration.ts'
import { checkShape } from './check-shape.ts'
import { findSecret, type SecretSources } from './secrets.ts'
import type { Declaration } from './shape.ts'

export interface DeclarationFile {
  /** The path as given, for messages. */
  readonly source: string
  /** Base of relative paths in the file. */
  readonly folder: string
  readonly declaration: Declaration
}

export function readDeclaration(path: string): DeclarationFile {
  const value = parse(path, readText(path))
  const checked = checkShape(value)
  if ('faults' in checked) throw new BadDeclaration(path, checked.faults)
  return { source: path, folder: dirname(resolve(path)), declaration: checked.declaration }
}

/** The settings of the file as the strings that flags or the environment would have. */
export function readSettings(
  { source, folder, declaration }: DeclarationFile,
  environment: SecretSources['environment'],
): Record<string, string> {
  const settings: [name: string, text: string][] = []
  const faults: Fault[] = []
  for (const [name, value] of Object.entries(declaration.settings ?? {})) {
    if (name === 'config' || name === 'settings_file')
      faults.push({ path: `settings.${name}`, text: 'a file cannot name another file' })
    else if (typeof value !== 'object') settings.push([name, String(value)])
    else if (Array.isArray(value)) settings.push([name, value.join(',')])
    else {
      const found = findSecret(value, { environment, folder })
      if ('text' in found) settings.push([name, found.text])
      else faults.push({ path: `settings.${name}`, text: found.fault })
    }
  }
  if (faults.length > 0) throw new BadDeclaration(source, faults)
  return Object.fromEntries(settings)
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    throw new BadDeclaration(path, [
      { path: '', text: `the declarative file cannot be read (${reason}): check GATEHOUSE_CONFIG` },
    ])
  }
}

/** JSON is valid YAML, and this parser rejects duplicate members, which JSON.parse accepts. */
function parse(path: string, text: string): unknown {
  const document = parseDocument(text, { uniqueKeys: true, prettyErrors: true, logLevel: 'error' })
  const faults = [...document.errors, ...document.warnings].map((error) => ({
    path: '',
    // Only the first line of the message: the rest quotes the file, which may contain secrets.
    text: error.message.split('\n', 1)[0]?.replace(/:$/, '') ?? error.code,
  }))
  if (faults.length > 0) throw new BadDeclaration(path, faults)
  // Such a name becomes a text, and so do all those in it, again at every level.
  if (hasCollectionAsName(document)) throw new BadDeclaration(path, [{ path: '', text: 'a name must be a text' }])
  try {
    return document.toJS({ maxAliasCount: 100 })
  } catch (error) {
    throw new BadDeclaration(path, [{ path: '', text: error instanceof Error ? error.message : String(error) }])
  }
}

function hasCollectionAsName(document: Document): boolean {
  let isFound = false
  visit(document, {
    Pair(_, { key }) {
      isFound = isCollection(key)
      return isFound ? visit.BREAK : undefined
    },
  })
  return isFound
}
