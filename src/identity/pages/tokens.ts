/** The design tokens of the pages and of the console: colours of a light and a dark theme in the operator's colour. */
import { DARK_SURFACE, LIGHT_SURFACE, type Shades, shadesOn } from './brand.ts'

/** The theme is that of the system, unless `data-theme` of the root element names one. */
export function designTokens(colour: string): string {
  const dark = `color-scheme:dark;${darkTokens(colour)}`
  return `:root{color-scheme:light dark;${lightTokens(colour)}}
:root[data-theme=light]{color-scheme:light}
@media (prefers-color-scheme:dark){:root:not([data-theme=light]){${dark}}}
:root[data-theme=dark]{${dark}}
`
}

function lightTokens(colour: string): string {
  return `--background:#f2f4f7;--glow:${colour}14;--surface:${LIGHT_SURFACE};--inset:#f6f7f9;--text:#151922;--quiet:#545c6b;--line:#dde1e8;--field:#8a93a3;
--danger:#b42318;--danger-background:#fef3f2;--good:#1a6b3c;--good-background:#eefaf2;--warn:#8a5300;--warn-background:#fff6e5;--shadow:0 1px 2px #1018280d,0 12px 32px -12px #10182829;
${shadeTokens(shadesOn(LIGHT_SURFACE, colour))}`
}

function darkTokens(colour: string): string {
  return `--background:#0d1015;--glow:${colour}29;--surface:${DARK_SURFACE};--inset:#1e232c;--text:#eceff4;--quiet:#a4adbb;--line:#2c333f;--field:#6f7989;
--danger:#ff9b90;--danger-background:#34191a;--good:#7fd8a2;--good-background:#14291d;--warn:#f0bd6a;--warn-background:#2f2411;--shadow:0 1px 2px #0006,0 16px 40px -16px #000c;
${shadeTokens(shadesOn(DARK_SURFACE, colour))}`
}

function shadeTokens(shades: Shades): string {
  return `--button:${shades.button};--button-hover:${shades.buttonHover};--button-text:${shades.buttonText};--accent:${shades.accent};`
}
