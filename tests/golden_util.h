/* golden_util.h - the problems of tests/golden/problems, and solves of them. Include it after icfp.h and util.h. */

#ifndef TEST_GOLDEN_UTIL_H
#define TEST_GOLDEN_UTIL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS = 10, PROBLEMS = KINDS * ICFP_MODELS };
static const char* const kinds[KINDS] = {"01_stick",    "02_slide", "03_impact", "04_box4",
                                         "05_box8belt", "06_stack", "07_trees",  "08_pile12",
                                         "09_stiff",    "10_pile40"};

/* The problem of a model and a kind: 1, or a failed check and 0 */
UTIL_UNUSED static int read_golden(int model, int kind, icfp* p)
{
    char path[128];
    icfp_file file;
    int got;
    snprintf(path, sizeof path, "tests/golden/problems/%s_%s.txt", icfp_model_name(model),
             kinds[kind]);
    got = icfp_open(&file, path) ? icfp_next(&file, p) : -1;
    TEST_CHECK_(got == 1, "%s", file.message);
    icfp_close(&file);
    return got == 1;
}

typedef struct run {
    icf_result result;
    icf_stats stats;
    icf_workspace workspace;
    icf_real* v;
} run;

UTIL_UNUSED static void run_free(run* r)
{
    icf_workspace_destroy(&r->workspace);
    free(r->v);
}

UTIL_UNUSED static run solve_problem(const icf_problem* p, int32_t unknowns,
                                     const icf_options* options, const icf_real* start)
{
    run r;
    memset(&r, 0, sizeof r);
    r.v = (icf_real*)allocate((size_t)unknowns, sizeof *r.v);
    memcpy(r.v, start, (size_t)unknowns * sizeof *r.v);
    r.result = icf_workspace_reserve(&r.workspace, p);
    TEST_CHECK_(r.result == ICF_RESULT_OK, "reserve: %s", icf_result_string(r.result));
    if (r.result == ICF_RESULT_OK) r.result = icf_solve(p, options, &r.workspace, r.v, &r.stats);
    return r;
}

UTIL_UNUSED static run solve_golden(const icfp* p, const icf_options* options)
{
    return solve_problem(&p->problem, p->unknowns, options, p->v_start);
}

#endif /* TEST_GOLDEN_UTIL_H */
