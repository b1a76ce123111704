/** The colours of charts: custom properties of the page, as a canvas takes them, and a signal for when they change. */
import { signal } from '@preact/signals'

export interface Colours {
  readonly text: string
  readonly strong: string
  readonly line: string
  readonly surface: string
  readonly up: string
  readonly down: string
  readonly series: readonly string[]
}

const SERIES = 8

/** Rises when the theme changes. */
export const themeVersion = signal(0)

const changed = () => {
  themeVersion.value++
}
new MutationObserver(changed).observe(document.documentElement, { attributeFilter: ['data-theme'] })
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', changed)

/** As an element in this place has them. */
export function readColours(place: HTMLElement): Colours {
  const probe = document.createElement('span')
  place.append(probe)
  const colour = (name: string) => {
    probe.style.setProperty('color', `var(${name})`)
    return getComputedStyle(probe).color
  }
  const colours = {
    text: colour('--quiet'),
    strong: colour('--text'),
    line: colour('--chart-line'),
    surface: colour('--surface'),
    up: colour('--chart-up'),
    down: colour('--chart-down'),
    series: Array.from({ length: SERIES }, (_, index) => colour(`--chart-${index + 1}`)),
  }
  probe.remove()
  return colours
}

/** The class of the mark before a name in the legend. */
export function markClass(index: number): string {
  return `chart-mark chart-colour-${(index % SERIES) + 1}`
}
