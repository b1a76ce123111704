/** The wheel and the pointer over a plot: zoom, move, and everything again. */

export interface Gestures {
  readonly isZoomed: () => boolean
  /** Less than 1 shows less; `left` is the place that stays. */
  readonly zoom: (factor: number, left: number) => void
  readonly move: (pixels: number) => void
  readonly reset: () => void
  readonly hasFocus: () => boolean
}

const WHEEL = 0.0015

/** Until the function that it returns is called. */
export function followGestures(over: HTMLElement, gestures: Gestures): () => void {
  const stop = new AbortController()
  const { signal } = stop
  over.addEventListener('wheel', (event) => onWheel(event, over, gestures), { signal, passive: false })
  over.addEventListener('dblclick', () => gestures.reset(), { signal })
  // Before uPlot, whose own drag selects a part to zoom into.
  over.parentElement?.addEventListener('mousedown', (event) => drag(event, over, gestures), { signal, capture: true })
  return () => stop.abort()
}

/** The page scrolls, unless the chart has the focus or Ctrl is held. */
function onWheel(event: WheelEvent, over: HTMLElement, { zoom, move, isZoomed, hasFocus }: Gestures): void {
  if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    if (!isZoomed()) return
    move(-event.deltaX)
  } else if (event.ctrlKey || event.metaKey || hasFocus()) {
    const left = event.clientX - over.getBoundingClientRect().left
    zoom(Math.exp(Math.max(-400, Math.min(400, event.deltaY)) * WHEEL), left)
  } else return
  event.preventDefault()
}

/** A zoomed plot is moved; with Shift a part of it is selected, as of one that is not. */
function drag(event: MouseEvent, over: HTMLElement, { isZoomed, move }: Gestures): void {
  if (event.button !== 0 || event.shiftKey || !isZoomed()) return
  event.stopPropagation()
  let last = event.clientX
  const stop = new AbortController()
  over.classList.add('moving')
  document.addEventListener(
    'mousemove',
    ({ clientX }) => {
      move(clientX - last)
      last = clientX
    },
    { signal: stop.signal },
  )
  const end = () => {
    over.classList.remove('moving')
    stop.abort()
  }
  document.addEventListener('mouseup', end, { signal: stop.signal })
}
