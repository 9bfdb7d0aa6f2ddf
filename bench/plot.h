/* Plots for programs that measure: lines and marks on linear or logarithmic axes, as an SVG file that needs
   nothing but a browser, and the same numbers as CSV.

       plot p = plot_begin("Error of a falling sphere", "time step (s)", "error in q (m)");
       plot_log(&p, 1, 1);
       plot_add(&p, "Lagged", PLOT_LINE | PLOT_MARK, count, dt, error);
       plot_add(&p, "first order", PLOT_REFERENCE, 2, line_x, line_y);
       plot_write(&p, 1, "bench/figures/sphere_error"); // makes .csv and .svg
       plot_end(&p);

   Points are copied. Those that are not finite, or not positive on a logarithmic axis, break a line.
   plot_write of more than one plot stacks them in one picture, each a panel; CSV files are then one a panel.
   Names and titles are UTF-8, without markup, and are not copied: give constants, or keep the text. */

#ifndef PLOT_H
#define PLOT_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PLOT_LINE = 1,
    PLOT_MARK = 2,
    PLOT_REFERENCE = 4 /* thin and grey; colour -1, dashed, or set to -2, dotted */
};

enum { PLOT_MAX_SERIES = 16 };

typedef struct plot_series {
    const char* name;  /* NULL: not in the legend */
    int style, colour; /* colour: also chooses the dashes and the mark; may be set after plot_add */
    int count;
    double *x, *y;
} plot_series;

typedef struct plot {
    const char *title, *subtitle, *x_title,
        *y_title; /* axis titles with units; subtitle may be NULL */
    int x_log, y_log;
    double x_min, x_max, y_min, y_max; /* where min < max; otherwise the data decide */
    int width, height;                 /* pixels, of this panel */
    int legend;                        /* 0: none, such as in all panels but the first */
    const char* const* x_names;        /* of places at x = 0, 1, ... instead of numbers, or NULL */
    int x_name_count;
    int clamp;    /* 1: marks beyond the y axis stand on its edge */
    int csv_rows; /* at most about so many of a series in the CSV; 0: all */
    int y_zero;   /* 1: a linear y axis begins or ends at 0 if it is near */
    int series_count, colour_count;
    plot_series series[PLOT_MAX_SERIES];
} plot;

static inline plot plot_begin(const char* title, const char* x_title, const char* y_title)
{
    plot p;
    memset(&p, 0, sizeof p);
    p.title = title;
    p.x_title = x_title;
    p.y_title = y_title;
    p.width = 900;
    p.height = 480;
    p.legend = 1;
    return p;
}

static inline void plot_end(plot* p)
{
    int i;
    for (i = 0; i < p->series_count; i++) {
        free(p->series[i].x);
        free(p->series[i].y);
    }
    memset(p, 0, sizeof *p);
}

static inline void plot_log(plot* p, int x_log, int y_log)
{
    p->x_log = x_log;
    p->y_log = y_log;
}

static inline void plot_x(plot* p, double from, double to)
{
    p->x_min = from;
    p->x_max = to;
}

/* Returns the series, or NULL where there is no room or no memory: such a plot is refused by plot_write */
static inline plot_series* plot_add(plot* p, const char* name, int style, int count,
                                    const double* x, const double* y)
{
    plot_series* s;
    size_t bytes = (size_t)(count > 0 ? count : 1) * sizeof(double);
    if (p->series_count >= PLOT_MAX_SERIES || count < 0) {
        p->width = 0;
        return NULL;
    }
    s = &p->series[p->series_count++];
    s->name = name;
    s->style = style;
    s->colour = style & PLOT_REFERENCE ? -1 : p->colour_count++;
    s->x = (double*)malloc(bytes);
    s->y = (double*)malloc(bytes);
    s->count = s->x && s->y ? count : 0;
    if (s->count < count) p->width = 0;
    if (s->count > 0) {
        memcpy(s->x, x, (size_t)count * sizeof(double));
        memcpy(s->y, y, (size_t)count * sizeof(double));
    }
    return s;
}

/* ---- from here on it is about drawing */

/* Colours of Okabe and Ito, which people who confuse red and green tell apart */
static inline const char* plot_colour(int i)
{
    static const char* const colours[7] = {"#0072B2", "#D55E00", "#009E73", "#AA4488",
                                           "#E69F00", "#3A9BDC", "#222222"};
    return i < 0 ? "#888888" : colours[i % 7];
}

static inline const char* plot_dash(int i)
{
    static const char* const dashes[5] = {"", "9 4", "2.5 3", "9 3 2.5 3", "5 2.5"};
    return i < -1 ? "1.5 3" : i < 0 ? "6 4" : dashes[i % 5];
}

typedef struct plot_axis {
    int log;
    double low, high;   /* of the data, or their logarithms */
    double from, to;    /* pixels */
    double tick[64];    /* where, as in low and high */
    char label[64][32]; /* an empty one: a short tick without a number */
    int count;
    int exponent; /* labels are of the value over 10^exponent */
} plot_axis;

static inline double plot_pixel(const plot_axis* a, double value)
{
    if (a->log) value = value > 0 ? log10(value) : -HUGE_VAL;
    return a->from + (value - a->low) / (a->high - a->low) * (a->to - a->from);
}

/* How wide a text is, nearly, in units of its size: signs, of UTF-8, at their mean width */
static inline double plot_text_width(const char* text)
{
    double width = 0;
    for (; *text; text++) {
        if (((unsigned char)*text & 0xC0) == 0x80) continue;
        width += strchr(".,:;il'|!() ", *text) ? 0.32 : strchr("mwMW", *text) ? 0.88 : 0.58;
    }
    return width;
}

/* Writes a power of ten with raised digits */
static inline void plot_power(char* out, size_t size, int exponent)
{
    static const char* const raised[10] = {
        "\xE2\x81\xB0", "\xC2\xB9",     "\xC2\xB2",     "\xC2\xB3",     "\xE2\x81\xB4",
        "\xE2\x81\xB5", "\xE2\x81\xB6", "\xE2\x81\xB7", "\xE2\x81\xB8", "\xE2\x81\xB9"};
    char digits[16];
    int i;
    snprintf(out, size, "10%s", exponent < 0 ? "\xE2\x81\xBB" : "");
    snprintf(digits, sizeof digits, "%d", abs(exponent));
    for (i = 0; digits[i]; i++) {
        size_t used = strlen(out);
        if (digits[i] >= '0') snprintf(out + used, size - used, "%s", raised[digits[i] - '0']);
    }
}

/* A number with a true minus sign */
static inline void plot_number(char* out, size_t size, double value, int decimals)
{
    if (decimals >= 0)
        snprintf(out, size, "%s%.*f", value < 0 ? "\xE2\x88\x92" : "", decimals, fabs(value));
    else
        snprintf(out, size, "%s%g", value < 0 ? "\xE2\x88\x92" : "", fabs(value));
}

static inline void plot_add_tick(plot_axis* a, double where, const char* label)
{
    if (a->count >= 64 || where < a->low - 1e-9 * (a->high - a->low) ||
        where > a->high + 1e-9 * (a->high - a->low))
        return;
    a->tick[a->count] = where;
    snprintf(a->label[a->count++], sizeof a->label[0], "%s", label);
}

/* Ticks at 1, 2 or 5 times a power of ten, about `wanted` of them */
static inline void plot_linear_ticks(plot_axis* a, int wanted)
{
    double raw = (a->high - a->low) / wanted, power = pow(10, floor(log10(raw)));
    double over = raw / power, step = power * (over < 1.5   ? 1
                                               : over < 3.5 ? 2
                                               : over < 7.5 ? 5
                                                            : 10);
    double largest = fmax(fabs(a->low), fabs(a->high)), first = ceil(a->low / step - 1e-9);
    int i, decimals;
    char label[32];
    a->exponent = 0;
    if (largest < 2e-3 || largest >= 1e5) a->exponent = (int)floor(log10(largest) + 1e-9);
    decimals = (int)-floor(log10(step) - a->exponent + 1e-9);
    if (decimals < 0) decimals = 0;
    for (i = 0; i < 40 && (first + i) * step <= a->high + 1e-9 * step; i++) {
        double value = (first + i) * step;
        if (fabs(value) < 1e-9 * step) value = 0;
        plot_number(label, sizeof label, value / pow(10, a->exponent), decimals);
        plot_add_tick(a, value, label);
    }
}

/* Labels at powers of ten, at 2 and 5 too where there are few of these, at all where there is none, and short
   ticks between */
static inline void plot_log_ticks(plot_axis* a)
{
    int first = (int)floor(a->low), last = (int)ceil(a->high), e, m;
    int every = 1 + (last - first) / 9;
    int plain = first >= -4 && last <= 5; /* numbers that are short when written out */
    double decades = a->high - a->low;
    char label[32];
    for (e = first; e <= last; e++) {
        for (m = 1; m < 10; m++) {
            size_t used = 0;
            label[0] = 0;
            if ((m == 1 && e % every == 0) || (decades < 2.2 && (m == 2 || m == 5)) ||
                decades < 1) {
                if (m > 1) used = (size_t)snprintf(label, sizeof label, "%d\xC2\xB7", m);
                if (plain)
                    plot_number(label, sizeof label, m * pow(10, e), -1);
                else
                    plot_power(label + used, sizeof label - used, e);
            }
            if (decades <= 5 || m == 1) plot_add_tick(a, e + log10(m), label);
        }
    }
}

static inline void plot_range(plot_axis* a, const plot* p, int is_y)
{
    int i, k;
    double low = HUGE_VAL, high = -HUGE_VAL, given_low = is_y ? p->y_min : p->x_min;
    double given_high = is_y ? p->y_max : p->x_max;
    memset(a, 0, sizeof *a);
    a->log = is_y ? p->y_log : p->x_log;
    for (i = 0; i < p->series_count; i++) {
        const plot_series* s = &p->series[i];
        for (k = 0; k < s->count; k++) {
            double value = is_y ? s->y[k] : s->x[k];
            if (!isfinite(value) || (a->log && !(value > 0))) continue;
            if (a->log) value = log10(value);
            low = fmin(low, value);
            high = fmax(high, value);
        }
    }
    if (low > high) low = 0, high = 1;
    if (!a->log && is_y && p->y_zero) {
        if (low > 0 && low < 0.6 * high) low = 0;
        if (high < 0 && high > 0.6 * low) high = 0;
    }
    if (high - low < 1e-12 * (1e-300 + fabs(high) + fabs(low))) {
        double widen = a->log ? 0.5 : high == 0 ? 1 : 0.1 * fabs(high);
        low -= widen;
        high += widen;
    }
    // a little air; time axes begin where the data begin
    if (is_y || a->log) {
        double air = 0.05 * (high - low);
        if (!(p->y_zero && is_y && low == 0 && !a->log)) low -= air;
        high += air;
    }
    if (given_low < given_high) {
        low = a->log ? log10(given_low) : given_low;
        high = a->log ? log10(given_high) : given_high;
    }
    a->low = low;
    a->high = high;
    if (!is_y && p->x_names)
        for (i = 0; i < p->x_name_count; i++) plot_add_tick(a, i, p->x_names[i]);
    else if (a->log)
        plot_log_ticks(a);
    else
        plot_linear_ticks(a, is_y ? (p->height > 330 ? 6 : 4) : 8);
}

static inline void plot_text(FILE* f, double x, double y, const char* attributes, const char* text)
{
    fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
    for (; *text; text++) {
        if (*text == '<')
            fputs("&lt;", f);
        else if (*text == '&')
            fputs("&amp;", f);
        else
            fputc(*text, f);
    }
    fputs("</text>\n", f);
}

static inline void plot_mark(FILE* f, double x, double y, int colour)
{
    const char* c = plot_colour(colour);
    fprintf(f, "<path d=\"");
    switch (colour % 6) {
    case 0: // a disc
        fprintf(f, "M%.1f %.1fa4 4 0 1 0 8 0a4 4 0 1 0 -8 0z", x - 4, y);
        break;
    case 1: fprintf(f, "M%.1f %.1fh7.4v7.4h-7.4z", x - 3.7, y - 3.7); break;
    case 2: fprintf(f, "M%.1f %.1fl5 8.6h-10z", x, y - 5.4); break;
    case 3: fprintf(f, "M%.1f %.1fl5 5l-5 5l-5 -5z", x, y - 5); break;
    case 4: fprintf(f, "M%.1f %.1fl-5 -8.6h10z", x, y + 5.4); break;
    default:
        fprintf(f, "M%.1f %.1fl8 8m-8 0l8 -8\" stroke=\"%s\" stroke-width=\"2\" fill=\"none\"/>\n",
                x - 4, y - 4, c);
        return;
    }
    fprintf(f, "\" fill=\"%s\" stroke=\"white\" stroke-width=\"0.8\"/>\n", c);
}

/* Which of the points of a line are needed for it to be right to a tenth of a pixel or two: the farthest
   from the chord of a stretch, and so on in both parts (Douglas and Peucker) */
static inline void plot_thin(const double* x, const double* y, int count, char* keep, int* stack)
{
    int top = 0;
    memset(keep, 0, (size_t)count);
    keep[0] = keep[count - 1] = 1;
    stack[top++] = 0;
    stack[top++] = count - 1;
    while (top > 0) {
        int last = stack[--top], first = stack[--top], i, far = -1;
        double dx = x[last] - x[first], dy = y[last] - y[first];
        double length2 = dx * dx + dy * dy, most = 0.15 * 0.15;
        for (i = first + 1; i < last; i++) {
            double px = x[i] - x[first], py = y[i] - y[first], along, off;
            along = length2 > 0 ? fmin(1, fmax(0, (px * dx + py * dy) / length2)) : 0;
            px -= along * dx;
            py -= along * dy;
            off = px * px + py * py;
            if (off > most) most = off, far = i;
        }
        if (far < 0) continue;
        keep[far] = 1;
        stack[top++] = first;
        stack[top++] = far;
        stack[top++] = far;
        stack[top++] = last;
    }
}

static inline int plot_line(FILE* f, const plot_series* s, const plot_axis* ax, const plot_axis* ay)
{
    int i, first, n = s->count, reference = s->style & PLOT_REFERENCE;
    size_t room = (size_t)(n > 0 ? n : 1);
    double* x = (double*)malloc(room * sizeof *x);
    double* y = (double*)malloc(room * sizeof *y);
    char* keep = (char*)malloc(room);
    int* stack = (int*)malloc((4 * room + 8) * sizeof *stack);
    int ok = x && y && keep && stack;
    for (i = 0; ok && i < n; i++) {
        x[i] = plot_pixel(ax, s->x[i]);
        y[i] = plot_pixel(ay, s->y[i]);
        // viewers do not all like coordinates that are far away
        if (isfinite(y[i])) y[i] = fmax(-1e4, fmin(1e4, y[i]));
    }
    for (first = 0; ok && first < n; first = i) {
        int begun = 0, k;
        i = first + 1;
        if (!isfinite(x[first]) || !isfinite(y[first])) continue;
        while (i < n && isfinite(x[i]) && isfinite(y[i])) i++;
        plot_thin(x + first, y + first, i - first, keep, stack);
        fprintf(
            f,
            "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"%s\" stroke-linejoin=\"round\"",
            plot_colour(s->colour), reference ? "1.3" : "2");
        if (*plot_dash(s->colour)) fprintf(f, " stroke-dasharray=\"%s\"", plot_dash(s->colour));
        fprintf(f, " points=\"");
        for (k = first; k < i; k++) {
            if (keep[k - first]) fprintf(f, "%s%.1f,%.1f", begun++ ? " " : "", x[k], y[k]);
        }
        fprintf(f, "\"/>\n");
    }
    free(x);
    free(y);
    free(keep);
    free(stack);
    return ok;
}

static inline int plot_panel(FILE* f, const plot* p, double top, int panel, double left,
                             double right)
{
    plot_axis ax, ay;
    int i, k, ok = 1;
    // marks may stand over the edge, lines cut off may not
    double over = p->y_min < p->y_max && !p->clamp ? 1 : 5;
    double head = (p->title ? 30 : 12) + (p->subtitle ? 18 : 0), x0, x1, y0, y1, y;
    char text[64], attributes[160];
    plot_range(&ax, p, 0);
    plot_range(&ay, p, 1);
    if (ay.exponent) head += 14;
    x0 = ax.from = left;
    x1 = ax.to = p->width - right;
    y0 = ay.to = top + head;
    y1 = ay.from = top + p->height - 52;

    if (p->title) plot_text(f, x0, top + 20, "font-size=\"16\" font-weight=\"bold\"", p->title);
    if (p->subtitle) plot_text(f, x0, top + 38, "font-size=\"12.5\" fill=\"#555\"", p->subtitle);
    fprintf(f,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"white\"/>\n"
            "<clipPath id=\"area%d\"><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
            "height=\"%.1f\"/></clipPath>\n",
            x0, y0, x1 - x0, y1 - y0, panel, x0 - 5, y0 - over, x1 - x0 + 10, y1 - y0 + 2 * over);

    // the grid first, the labels with it
    for (i = 0; i < ax.count; i++) {
        double scale = (ax.to - ax.from) / (ax.high - ax.low);
        double x = ax.from + (ax.tick[i] - ax.low) * scale;
        double line = p->x_names ? fmin(x1, x + 0.5 * scale) : x; /* names stand between lines */
        int major = ax.label[i][0] != 0;
        fprintf(f, "<path d=\"M%.1f %.1fV%.1f\" stroke=\"%s\" stroke-width=\"1\"/>\n", line,
                major ? y0 : y1 - 4, y1, major ? "#e3e3e3" : "#aaa");
        plot_text(f, x, y1 + 18, "text-anchor=\"middle\"", ax.label[i]);
    }
    for (i = 0; i < ay.count; i++) {
        int major = ay.label[i][0] != 0;
        y = ay.from + (ay.tick[i] - ay.low) / (ay.high - ay.low) * (ay.to - ay.from);
        fprintf(f, "<path d=\"M%.1f %.1fH%.1f\" stroke=\"%s\" stroke-width=\"1\"/>\n", x0, y,
                major ? x1 : x0 + 4, major ? "#e3e3e3" : "#aaa");
        plot_text(f, x0 - 7, y + 4.5, "text-anchor=\"end\"", ay.label[i]);
    }
    fprintf(
        f,
        "<path d=\"M%.1f %.1fV%.1fH%.1f\" fill=\"none\" stroke=\"#444\" stroke-width=\"1.2\"/>\n",
        x0, y0, y1, x1);
    if (ay.exponent || ax.exponent) {
        char power[32];
        plot_power(power, sizeof power, ay.exponent);
        snprintf(text, sizeof text, "\xC3\x97 %s", power);
        if (ay.exponent) plot_text(f, x0, y0 - 6, "fill=\"#444\"", text);
        plot_power(power, sizeof power, ax.exponent);
        snprintf(text, sizeof text, "\xC3\x97 %s", power);
        if (ax.exponent) plot_text(f, x1, y1 + 36, "text-anchor=\"end\" fill=\"#444\"", text);
    }
    if (p->x_title)
        plot_text(f, 0.5 * (x0 + x1), y1 + 40, "text-anchor=\"middle\" font-size=\"14\"",
                  p->x_title);
    snprintf(attributes, sizeof attributes,
             "text-anchor=\"middle\" font-size=\"14\" transform=\"rotate(-90 20 %.1f)\"",
             0.5 * (y0 + y1));
    if (p->y_title) plot_text(f, 20, 0.5 * (y0 + y1), attributes, p->y_title);

    fprintf(f, "<g clip-path=\"url(#area%d)\">\n", panel);
    for (i = 0; i < p->series_count; i++) {
        if (p->series[i].style & PLOT_REFERENCE) ok = plot_line(f, &p->series[i], &ax, &ay) && ok;
    }
    for (i = 0; i < p->series_count; i++) {
        const plot_series* s = &p->series[i];
        if (s->style & PLOT_LINE) ok = plot_line(f, s, &ax, &ay) && ok;
        for (k = 0; (s->style & PLOT_MARK) && k < s->count; k++) {
            double x = plot_pixel(&ax, s->x[k]);
            y = plot_pixel(&ay, s->y[k]);
            if (p->clamp && !isnan(y)) y = fmax(y0, fmin(y1, y));
            if (isfinite(x) && isfinite(y) && fabs(y) < 1e4) plot_mark(f, x, y, abs(s->colour));
        }
    }
    fprintf(f, "</g>\n");

    // the legend, right of the plot, where it hides nothing
    for (i = 0, y = y0 + 12; p->legend && i < p->series_count; i++) {
        const plot_series* s = &p->series[i];
        if (!s->name) continue;
        if (s->style & (PLOT_LINE | PLOT_REFERENCE))
            fprintf(f,
                    "<path d=\"M%.1f %.1fh34\" stroke=\"%s\" stroke-width=\"%s\" "
                    "stroke-dasharray=\"%s\"/>\n",
                    x1 + 16, y, plot_colour(s->colour), s->style & PLOT_REFERENCE ? "1.3" : "2",
                    *plot_dash(s->colour) ? plot_dash(s->colour) : "none");
        if (s->style & PLOT_MARK) plot_mark(f, x1 + 33, y, abs(s->colour));
        plot_text(f, x1 + 57, y + 4.5, "", s->name);
        y += 21;
    }
    return ok;
}

/* One picture of `count` panels, one below the other, with their axes in line. Answers whether it was
   written. */
static inline int plot_write_svg(const plot* panels, int count, const char* path)
{
    FILE* f;
    int i, k, width = 0, height = 0, ok = 1;
    double left = 60, right = 24, top = 8;
    for (i = 0; i < count; i++) {
        plot_axis a;
        if (panels[i].width <= 0) return 0;
        if (panels[i].width > width) width = panels[i].width;
        height += panels[i].height;
        plot_range(&a, &panels[i], 1);
        for (k = 0; k < a.count; k++) left = fmax(left, 46 + 13 * plot_text_width(a.label[k]));
        for (k = 0; panels[i].legend && k < panels[i].series_count; k++) {
            if (panels[i].series[k].name)
                right = fmax(right, 72 + 13 * plot_text_width(panels[i].series[k].name));
        }
    }
    f = fopen(path, "w");
    if (!f) return 0;
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d "
            "%d\" "
            "font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" font-size=\"13\" "
            "fill=\"#222\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fbfbfa\"/>\n",
            width, height + 16, width, height + 16);
    for (i = 0; i < count; i++) {
        ok = plot_panel(f, &panels[i], top, i, left, right) && ok;
        top += panels[i].height;
    }
    fprintf(f, "</svg>\n");
    return fclose(f) == 0 && ok;
}

static inline void plot_csv_text(FILE* f, const char* text)
{
    fputc('"', f);
    for (; text && *text; text++) fprintf(f, *text == '"' ? "\"\"" : "%c", *text);
    fputc('"', f);
}

/* A column for each series where they share the x; otherwise rows of series, x, y */
static inline int plot_write_csv(const plot* p, const char* path)
{
    FILE* f;
    int i, k, every = 1, shared = p->series_count > 0;
    for (i = 1; shared && i < p->series_count; i++) {
        shared =
            p->series[i].count == p->series[0].count &&
            !memcmp(p->series[i].x, p->series[0].x, (size_t)p->series[0].count * sizeof(double));
    }
    for (i = 0; p->csv_rows > 0 && i < p->series_count; i++) {
        while (p->series[i].count / every > p->csv_rows) every++;
    }
    if (p->width <= 0) return 0;
    f = fopen(path, "w");
    if (!f) return 0;
    if (!shared) fprintf(f, "series,");
    plot_csv_text(f, p->x_title);
    if (!shared) {
        fputc(',', f);
        plot_csv_text(f, p->y_title);
    }
    for (i = 0; shared && i < p->series_count; i++) {
        fputc(',', f);
        plot_csv_text(f, p->series[i].name ? p->series[i].name : p->y_title);
    }
    fputc('\n', f);
    for (k = 0; shared && k < p->series[0].count; k += every) {
        fprintf(f, "%.7g", p->series[0].x[k]);
        for (i = 0; i < p->series_count; i++) fprintf(f, ",%.6g", p->series[i].y[k]);
        fputc('\n', f);
    }
    for (i = 0; !shared && i < p->series_count; i++) {
        for (k = 0; k < p->series[i].count; k += every) {
            const int named = (int)floor(p->series[i].x[k] + 0.5);
            plot_csv_text(f, p->series[i].name);
            fputc(',', f);
            if (p->x_names && named >= 0 && named < p->x_name_count)
                plot_csv_text(f, p->x_names[named]);
            else
                fprintf(f, "%.7g", p->series[i].x[k]);
            fprintf(f, ",%.6g\n", p->series[i].y[k]);
        }
    }
    return fclose(f) == 0;
}

/* Both: path.svg, and path.csv or, of panels, path_1.csv and so on. Says what it wrote, or could not. */
static inline int plot_write(const plot* panels, int count, const char* path)
{
    char name[512];
    int i, ok;
    snprintf(name, sizeof name, "%s.svg", path);
    ok = plot_write_svg(panels, count, name);
    for (i = 0; i < count; i++) {
        char file[512];
        if (count == 1)
            snprintf(file, sizeof file, "%.480s.csv", path);
        else
            snprintf(file, sizeof file, "%.480s_%d.csv", path, i + 1);
        ok = plot_write_csv(&panels[i], file) && ok;
    }
    if (ok)
        printf("wrote %s\n", name);
    else
        fprintf(stderr, "could not write %s or its .csv\n", name);
    return ok;
}

#endif
