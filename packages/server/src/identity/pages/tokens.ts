/** The design tokens that all pages and the console share: colours in two themes, type, spacing and radius. */
import { DARK_SURFACES, LIGHT_SURFACES, type Shades, type Surfaces, shadesOn } from './brand.ts'

/**
 * As custom properties; their names are an interface. The theme is that of the system, unless the attribute `data-theme`
 * of the document says `light` or `dark`.
 */
export function designTokens(colour: string): string {
  const dark = `${DARK}--glow:${colour}29;${shadeTokens(shadesOn(DARK_SURFACES, colour))}`
  return `:root{color-scheme:light dark;${SCALE}${LIGHT}--glow:${colour}14;${shadeTokens(shadesOn(LIGHT_SURFACES, colour))}}
@media (prefers-color-scheme:dark){:root:not([data-theme=light]){${dark}}}
:root[data-theme=light]{color-scheme:light}
:root[data-theme=dark]{color-scheme:dark;${dark}}
`
}

/** Lengths are multiples of 4 px at the usual font size. */
const SCALE = [
  '--font:Inter,system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif',
  '--mono:"JetBrains Mono",ui-monospace,SFMono-Regular,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace',
  '--type-small:.8125rem;--type-data:.875rem;--type-label:.9375rem;--type-body:1rem',
  '--type-section:1.0625rem;--type-title:1.5rem;--type-display:2.25rem',
  '--space-1:.25rem;--space-2:.5rem;--space-3:.75rem;--space-4:1rem;--space-5:1.25rem;--space-6:1.5rem;--space-8:2rem',
  '--radius:.375rem;--radius-large:.625rem;--radius-card:1rem;',
].join(';')

const LIGHT = [
  `${surfaceTokens(LIGHT_SURFACES)};--text:#151922;--quiet:#545c6b`,
  '--line:#dde1e8;--field:#8a93a3',
  '--danger:#b42318;--danger-background:#fef3f2;--danger-button:#b42318;--danger-button-hover:#912018',
  '--good:#1a6b3c;--good-background:#eefaf2;--warn:#8a5300;--warn-background:#fff6e5',
  '--shadow:0 1px 2px #1018280d,0 12px 32px -12px #10182829;',
].join(';')

const DARK = [
  `${surfaceTokens(DARK_SURFACES)};--text:#eceff4;--quiet:#a4adbb`,
  '--line:#2c333f;--field:#6f7989',
  '--danger:#ff9b90;--danger-background:#34191a;--danger-button:#c83a2e;--danger-button-hover:#a92f25',
  '--good:#7fd8a2;--good-background:#14291d;--warn:#f0bd6a;--warn-background:#2f2411',
  '--shadow:0 1px 2px #0006,0 16px 40px -16px #000c;',
].join(';')

function surfaceTokens({ background, surface, inset }: Surfaces): string {
  return `--background:${background};--surface:${surface};--inset:${inset}`
}

function shadeTokens({ button, buttonHover, buttonText, accent }: Shades): string {
  return `--button:${button};--button-hover:${buttonHover};--button-text:${buttonText};--accent:${accent};`
}
