/** The wheel, the pointer and fingers over a plot: zoom, move, and everything again. */

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
  followFingers(over, gestures, signal)
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

/** Two fingers zoom, and one moves what is zoomed. The style sheet leaves vertical movements to the page. */
function followFingers(over: HTMLElement, { zoom, move, isZoomed }: Gestures, signal: AbortSignal): void {
  const fingers = new Map<number, number>()
  const middle = () => [...fingers.values()].reduce((sum, x) => sum + x, 0) / fingers.size
  const span = () => Math.max(MIN_SPAN, Math.max(...fingers.values()) - Math.min(...fingers.values()))
  const leave = ({ pointerId }: PointerEvent) => fingers.delete(pointerId)
  over.addEventListener(
    'pointerdown',
    ({ pointerType, pointerId, clientX }) => {
      if (pointerType === 'touch' && fingers.size < 2) fingers.set(pointerId, clientX)
    },
    { signal },
  )
  over.addEventListener(
    'pointermove',
    ({ pointerId, clientX }) => {
      if (!fingers.has(pointerId)) return
      const [middleBefore, spanBefore] = [middle(), span()]
      fingers.set(pointerId, clientX)
      if (fingers.size === 2) zoom(spanBefore / span(), middle() - over.getBoundingClientRect().left)
      if (isZoomed()) move(middle() - middleBefore)
    },
    { signal },
  )
  over.addEventListener('pointerup', leave, { signal })
  over.addEventListener('pointercancel', leave, { signal })
}

/** Pixels: fingers that are one above the other do not zoom. */
const MIN_SPAN = 24
