/** The full screen of a board. */
import { useEffect } from 'preact/hooks'
import { isKiosk } from '../../shell/kiosk.ts'

/** Shows nothing but the board while `wanted`. Escape, or leaving the full screen of the browser, calls `onLeave`. */
export function useKiosk(wanted: boolean, onLeave: () => void): void {
  useEffect(() => {
    isKiosk.value = wanted
    if (!wanted) return
    // A screen on a wall is read from a distance, often in a dark room.
    const { dataset } = document.documentElement
    const { theme } = dataset
    dataset.theme = 'dark'
    const onKey = (event: KeyboardEvent) => {
      if (event.key === 'Escape' && !event.defaultPrevented) onLeave()
    }
    const onChange = () => {
      if (document.fullscreenElement === null) onLeave()
    }
    document.addEventListener('keydown', onKey)
    document.addEventListener('fullscreenchange', onChange)
    return () => {
      isKiosk.value = false
      if (theme === undefined) delete dataset.theme
      else dataset.theme = theme
      document.removeEventListener('keydown', onKey)
      document.removeEventListener('fullscreenchange', onChange)
    }
  }, [wanted])
}
