"""Tables of cells from their coordinates, and back: see `factors.Coordinates`."""

from spanforest._compiled.decorators import NEXT, compiled, internal, keep_small, place


@compiled
def expand_rows(layout, values, cells):
    """Write into each row of `cells` the tables with the coordinates of its values.

    In a table whose cells sum to zero, the first row and the first column follow from
    the other cells and the sums of the other rows and columns.
    """
    keep_small()
    for i in range(values.shape[0]):
        for f in range(layout.shape[0]):
            at = layout[f]
            corner, n_first, n_second = at["offset"], at["n_first"], at["n_second"]
            row_sums, column_sums = at["row_sums"], at["column_sums"]
            inner = at["inner"]
            if n_first == 2 and n_second == 2:  # the common case
                row, column = values[i, place(row_sums)], values[i, place(column_sums)]
                both, cell = values[i, place(inner)], place(corner)
                cells[i, cell] = both - row - column
                cells[i, cell + NEXT] = column - both
                cells[i, cell + place(2)] = row - both
                cells[i, cell + place(3)] = both
                continue
            total = 0.0
            for b in range(1, n_second):
                cells[i, corner + b] = values[i, column_sums + b - 1]
                total += values[i, column_sums + b - 1]
            for a in range(1, n_first):
                cell = corner + a * n_second
                rest = values[i, row_sums + a - 1]
                for b in range(1, n_second):
                    value = values[i, inner]
                    inner += 1
                    cells[i, cell + b] = value
                    cells[i, corner + b] -= value
                    rest -= value
                cells[i, cell] = rest
                total += rest
            cells[i, corner] = -total


@internal
def contract(layout, cells, values):
    """Write into `values` the coordinates of tables: the inverse of `expand_rows`.

    Where tables share a label, the last of them gives its sums.
    """
    keep_small()
    for f in range(layout.shape[0]):
        at = layout[f]
        corner, n_first, n_second = at["offset"], at["n_first"], at["n_second"]
        row_sums, column_sums, inner = at["row_sums"], at["column_sums"], at["inner"]
        if n_first == 2 and n_second == 2:  # the common case
            cell = place(corner)
            both = cells[cell + place(3)]
            values[place(row_sums)] = cells[cell + place(2)] + both
            values[place(column_sums)] = cells[cell + NEXT] + both
            values[place(inner)] = both
            continue
        for b in range(1, n_second):
            total = 0.0
            for a in range(n_first):
                total += cells[corner + a * n_second + b]
            values[column_sums + b - 1] = total
        for a in range(1, n_first):
            cell = corner + a * n_second
            total = cells[cell]
            for b in range(1, n_second):
                total += cells[cell + b]
                values[inner] = cells[cell + b]
                inner += 1
            values[row_sums + a - 1] = total


# stamp: bf4b671b9d7ccd4c
