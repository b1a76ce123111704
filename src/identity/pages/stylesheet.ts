/** The stylesheets of the pages: the design tokens in the operator's colour, and the rules in `styles/`. */
import { readFileSync } from 'node:fs'
import { designTokens } from './tokens.ts'

export function pageStyles(colour: string): string {
  return `${designTokens(colour)}${rules('pages')}${rules('site')}`
}

/** What the documentation has beyond other pages. */
export function documentationStyles(): string {
  return rules('documentation')
}

/** Without comments and indentation. */
function rules(name: 'pages' | 'site' | 'documentation'): string {
  return readFileSync(new URL(`styles/${name}.css`, import.meta.url), 'utf8')
    .replace(/\/\*.*?\*\//gs, '')
    .replace(/\s+/g, ' ')
    .replace(/ ?([{};,]) ?/g, '$1')
    .replaceAll('}', '}\n')
}
