/** Places in numbers that are in order, and the place of the most. */

/** The first place from 0 on at which a condition holds that then holds to the end; `count` where it never does. */
export function firstPlace(count: number, holdsFrom: (place: number) => boolean): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holdsFrom(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The first place of the highest value in [begin, end); `begin` where there is none. */
export function placeOfMost(values: ArrayLike<number>, begin = 0, end = values.length): number {
  let most = begin;
  for (let place = begin + 1; place < end; place += 1) if (values[place]! > values[most]!) most = place;
  return most;
}
