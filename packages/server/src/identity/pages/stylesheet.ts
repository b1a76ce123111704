/** The stylesheets of the pages: the design tokens in the operator's colour, and the rules in `styles/`. */
import { readFileSync } from 'node:fs'
import { designTokens } from './tokens.ts'

export function pageStyles(colour: string): string {
  return `${designTokens(colour)}${rules('elements')}${rules('pages')}${rules('site')}`
}

/** What the documentation has beyond other pages. */
export function documentationStyles(): string {
  return rules('documentation') + rules('search')
}

/** Without comments and indentation. */
function rules(name: 'elements' | 'pages' | 'site' | 'documentation' | 'search'): string {
  return readFileSync(new URL(`styles/${name}.css`, import.meta.url), 'utf8')
    .replace(/\/\*.*?\*\//gs, '')
    .replace(/\s+/g, ' ')
    .replace(/ ?([{};,]) ?/g, '$1')
    .replaceAll('}', '}\n')
}
