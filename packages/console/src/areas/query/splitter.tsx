/** Two parts above each other, and a bar between that moves by pointer and by arrow keys. */
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { readStored, writeStored } from './storage.ts'

const LEAST = 80
const STEP = 24

export function Splitter({
  top,
  middle,
  bottom,
}: {
  readonly top: ComponentChildren
  readonly middle: ComponentChildren
  readonly bottom: ComponentChildren
}) {
  const [height, setHeight] = useState(() => readStored<number>('split') ?? 220)
  const frame = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    frame.current?.style.setProperty('--split', `${height}px`)
  }, [height])
  const resize = (wanted: number) => {
    const most = Math.max(LEAST, (frame.current?.clientHeight ?? 600) - 2 * LEAST)
    const next = Math.round(Math.min(most, Math.max(LEAST, wanted)))
    setHeight(next)
    writeStored('split', next)
  }
  return (
    <div ref={frame} class="query-split">
      <div class="query-split-top">{top}</div>
      {/* biome-ignore lint/a11y/useSemanticElements: a rule cannot be moved */}
      <div
        class="query-split-bar"
        role="separator"
        aria-orientation="horizontal"
        aria-label="Height of the editor"
        aria-valuenow={height}
        aria-valuemin={LEAST}
        tabIndex={0}
        onKeyDown={(event) => {
          if (event.key !== 'ArrowUp' && event.key !== 'ArrowDown') return
          event.preventDefault()
          resize(height + (event.key === 'ArrowUp' ? -STEP : STEP))
        }}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId)
        }}
        onPointerMove={(event) => {
          if (!event.currentTarget.hasPointerCapture(event.pointerId)) return
          resize(event.clientY - (frame.current?.getBoundingClientRect().top ?? 0))
        }}
      />
      {middle}
      <div class="query-split-bottom">{bottom}</div>
    </div>
  )
}
