/** The templates of a node: the built-in ones in English and German, and over them those of the folder `mail_templates`. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isMailKind, type MailKind, mailKinds } from '../store/mail/kinds.ts'
import { BadTemplate, readTemplate, type Template } from './template.ts'
import { de } from './texts/de.ts'
import { en } from './texts/en.ts'

export interface Templates {
  /** In the first of these languages that there is, else in English. */
  find(kind: MailKind, languages: readonly string[]): { readonly template: Template; readonly language: string }
}

const BUILT_IN = new Map([
  ['en', en],
  ['de', de],
])
const LONGEST_FILE = 262_144

/** `folder` is empty for the built-in ones alone. Throws BadTemplate, which names the file. */
export function loadTemplates(folder: string): Templates {
  const all = new Map<string, Template>()
  for (const [language, texts] of BUILT_IN)
    for (const kind of mailKinds()) all.set(`${kind}.${language}`, readTemplate(kind, texts[kind]))
  for (const [name, template] of folder === '' ? [] : readFolder(folder)) all.set(name, template)
  return {
    find(kind, languages) {
      for (const language of languages) {
        const template = all.get(`${kind}.${language}`)
        if (template !== undefined) return { template, language }
      }
      const template = all.get(`${kind}.en`)
      if (template === undefined) throw new Error(`There is no template of ${kind}`)
      return { template, language: 'en' }
    },
  }
}

function readFolder(folder: string): [name: string, template: Template][] {
  const names = readNames(folder)
  return names.flatMap((file) => {
    const [, kind = '', language = '', ending = ''] = /^([a-z-]+)\.([a-z]{2,3})\.(txt|html)$/.exec(file) ?? []
    if (!isMailKind(kind))
      throw new BadTemplate(
        `${join(folder, file)} is not named like invitation.en.txt; the kinds are ${mailKinds().join(', ')}`,
      )
    if (ending === 'html') {
      if (!names.includes(`${kind}.${language}.txt`))
        throw new BadTemplate(`${join(folder, file)} needs ${kind}.${language}.txt with the subject and the text`)
      return []
    }
    const html = `${kind}.${language}.html`
    return [[`${kind}.${language}`, readFiles(folder, kind, file, names.includes(html) ? html : undefined)]]
  })
}

/** Hidden files are not templates. */
function readNames(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => !name.startsWith('.'))
  } catch (error) {
    throw new BadTemplate(`The folder ${folder} cannot be read: ${errorReason(error)}`)
  }
}

function readFiles(folder: string, kind: MailKind, file: string, html: string | undefined): Template {
  try {
    return readTemplate(
      kind,
      readText(join(folder, file)),
      html === undefined ? undefined : readText(join(folder, html)),
    )
  } catch (error) {
    const which = html === undefined ? join(folder, file) : `${join(folder, file)} or ${html}`
    throw new BadTemplate(`${which} cannot be used: ${errorReason(error)}`)
  }
}

function readText(path: string): string {
  const bytes = readFileSync(path)
  if (bytes.length > LONGEST_FILE) throw new BadTemplate(`it has more than ${LONGEST_FILE} bytes`)
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
}

function errorReason(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
