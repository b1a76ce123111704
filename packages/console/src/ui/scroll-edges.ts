/** Says in the attribute `data-more` of an element on which sides it can be scrolled, so that its style can show it. */
import { useEffect } from 'preact/hooks'

export function useScrollEdges(element: { readonly current: HTMLElement | null }): void {
  useEffect(() => {
    const own = element.current
    if (own === null) return
    const read = () => {
      const { scrollLeft, clientWidth, scrollWidth } = own
      const sides = [scrollLeft > 1 && 'left', scrollLeft + clientWidth < scrollWidth - 1 && 'right']
      own.dataset.more = sides.filter((side) => side !== false).join(' ')
    }
    read()
    own.addEventListener('scroll', read, { passive: true })
    const observer = new ResizeObserver(read)
    observer.observe(own)
    for (const child of own.children) observer.observe(child)
    return () => {
      own.removeEventListener('scroll', read)
      observer.disconnect()
    }
  }, [])
}
