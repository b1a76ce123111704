/** The operator's branding of the pages, and shades of its colour that are readable on light and dark backgrounds. */

export interface Brand {
  readonly name: string
  /** As `#rrggbb`. */
  readonly colour: string
  /** Whom people ask for help: an e-mail address, a URL or a text; empty for the administrator. */
  readonly supportContact: string
}

const LOGO_TYPES: ReadonlyMap<string, string> = new Map([
  ['.svg', 'image/svg+xml'],
  ['.png', 'image/png'],
  ['.webp', 'image/webp'],
  ['.jpg', 'image/jpeg'],
  ['.jpeg', 'image/jpeg'],
])

/** The media type of a logo by the extension of its file. */
export function logoType(ending: string): string {
  return LOGO_TYPES.get(ending) ?? 'application/octet-stream'
}

/** The lines of our own logo, in a square of 36 units. */
export const MARK_LINES = 'M9 28V17a9 9 0 0 1 18 0v11M15 28V15.5M21 28V15.5M9.5 20h17'

/** Our own logo as a file, for the tab of the browser. */
export function markFile(colour: string): string {
  const { button, buttonText } = shadesOn(LIGHT_SURFACES, colour)
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 36 36"><rect width="36" height="36" rx="9" fill="${button}"/><path d="${MARK_LINES}" fill="none" stroke="${buttonText}" stroke-width="2.4" stroke-linecap="round" stroke-linejoin="round"/></svg>`
}

export interface Shades {
  readonly button: string
  readonly buttonHover: string
  readonly buttonText: string
  /** Links, focus rings and icons, on any of the surfaces. */
  readonly accent: string
}

/** The colours of cards, of highlighted areas inside them, and of the page behind them. */
export const LIGHT_SURFACES = { surface: '#ffffff', inset: '#f6f7f9', background: '#f2f4f7' } as const
export const DARK_SURFACES = { surface: '#171b22', inset: '#1e232c', background: '#0d1015' } as const

export type Surfaces = typeof LIGHT_SURFACES | typeof DARK_SURFACES

/** WCAG 2.2 §1.4.3 requires 4.5; a little more allows for rounding. */
const READABLE = 4.6

export function shadesOn(surfaces: Surfaces, colour: string): Shades {
  const towards = luminance(surfaces.surface) > 0.5 ? '#000000' : '#ffffff'
  const all = Object.values(surfaces)
  const accent = untilReadable(colour, towards, (shade) => Math.min(...all.map((each) => contrast(shade, each))))
  const buttonText = contrast('#ffffff', colour) >= 3 ? '#ffffff' : '#10131a'
  const away = buttonText === '#ffffff' ? '#000000' : '#ffffff'
  const button = untilReadable(colour, away, (shade) => contrast(shade, buttonText))
  return { button, buttonHover: mix(button, away, 0.14), buttonText, accent }
}

/** The WCAG contrast ratio, from 1 to 21. */
export function contrast(a: string, b: string): number {
  const [dark = 0, light = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y)
  return (light + 0.05) / (dark + 0.05)
}

function untilReadable(colour: string, towards: string, measure: (shade: string) => number): string {
  for (let share = 0; share < 1; share += 0.04) {
    const shade = mix(colour, towards, share)
    if (measure(shade) >= READABLE) return shade
  }
  return towards
}

function mix(from: string, to: string, share: number): string {
  const target = channels(to)
  const mixed = channels(from).map((value, index) => Math.round(value + ((target[index] ?? 0) - value) * share))
  return `#${mixed.map((value) => value.toString(16).padStart(2, '0')).join('')}`
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = channels(colour).map((value) => {
    const share = value / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function channels(colour: string): number[] {
  return [1, 3, 5].map((start) => Number.parseInt(colour.slice(start, start + 2), 16))
}
